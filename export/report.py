"""What an export found out: the report beside a package's manifest, in JSON that depends on the checkpoint only."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from export.tokenizer.parity import MismatchKind, ParityReport
from export.verify.agreement import Agreement
from export.verify.parity import GraphParity
from export.verify.structure import GraphStructure
from export.verify.verification import Verification

REPORT_FILE = "report.json"

# Measured numbers are rounded, so that a library's last digits do not make two exports differ.
_DIGITS = 3


@dataclass(frozen=True, slots=True)
class ExportReport:
    """One finished export.

    folder: the package. decisions: what the checkpoint left open and how it was settled, as sentences.
    sizes_bytes: bytes of each file of the package but the report itself.
    """

    folder: Path
    decisions: tuple[str, ...]
    verification: Verification
    sizes_bytes: Mapping[str, int]

    def to_json(self) -> str:
        """The content of report.json."""
        verification = self.verification
        content = {
            "decisions": list(self.decisions),
            "graphs": {name: _plain(structure) for name, structure in verification.structures.items()},
            "parity": {name: _plain(parity) for name, parity in verification.parities.items()},
            "agreement": {name: _plain(agreement) for name, agreement in verification.agreements.items()},
            "agreement_limits": asdict(verification.limits),
            "tokenizers": _tokenizers(verification.tokenizers),
            "sizes_bytes": dict(self.sizes_bytes),
        }
        return json.dumps(content, indent=2, sort_keys=True) + "\n"


def _plain(result: GraphStructure | GraphParity | Agreement) -> dict[str, Any]:
    """Fields with rounded numbers; problems are left out, since a report is written only when there are none."""
    fields = {name: value for name, value in asdict(result).items() if name != "problems"}
    return {name: _rounded(value) for name, value in fields.items()}


def _rounded(value: Any) -> Any:
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


def _tokenizers(parity: ParityReport) -> dict[str, Any]:
    counts: dict[str, Any] = {"target_ids_decoded_differently": parity.num_piece_mismatches}
    for name, found in (("natural", parity.natural), ("stress", parity.stress)):
        counts[name] = {
            "lines": found.num_lines,
            "decoded_differently": found.num_decoding_mismatches,
            **{f"ids_differ_by_{kind.value}": found.count(kind) for kind in MismatchKind},
        }
    return counts
