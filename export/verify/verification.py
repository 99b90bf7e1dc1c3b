"""Runs every check on the files of a package that is about to be finished."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from export.checkpoint import Checkpoint
from export.graphs import Precision
from export.reference import ReferenceNetwork
from export.sample import Framing, built_in_sentences
from export.tokenizer.parity import ParityReport
from export.tokenizer.parity import check_parity as check_tokenizers
from export.verify.agreement import Agreement, AgreementLimits, measure_agreement
from export.verify.graph_pair import GraphPair
from export.verify.parity import GraphParity, check_parity
from export.verify.structure import GraphStructure, check_structure
from service.errors import ExportError
from service.package.manifest import GraphFiles
from service.package.package import GraphKind


@dataclass(frozen=True, slots=True)
class Subject:
    """What is checked: the files in `folder`, what they were made from, and one language pair to try them on."""

    folder: Path
    checkpoint: Checkpoint
    graphs: Mapping[Precision, GraphFiles]
    framing: Framing


@dataclass(frozen=True, slots=True)
class Verification:
    """Results of all checks: structures by file, parities and agreements by precision, tokenizer counts."""

    structures: Mapping[str, GraphStructure]
    parities: Mapping[str, GraphParity]
    agreements: Mapping[str, Agreement]
    limits: AgreementLimits
    tokenizers: ParityReport

    @property
    def problems(self) -> list[str]:
        """Everything that is not as it must be, as sentences."""
        found = [problem for structure in self.structures.values() for problem in structure.problems]
        found += [f"{name}: {problem}" for name, parity in self.parities.items() for problem in parity.problems]
        for name, agreement in self.agreements.items():
            found += [f"{name}: {problem}" for problem in agreement.problems(self.limits)]
        found += [f"tokenizers: {problem}" for problem in self.tokenizers.problems]
        return found


def verify(subject: Subject, limits: AgreementLimits) -> Verification:
    """Checks structure, parity and agreement; float32 graphs must be there. Raises ExportError with every problem."""
    spec = subject.framing.spec
    structures = {
        path.name: check_structure(path, kind, precision, spec)
        for precision, files in subject.graphs.items()
        for kind, path in _graph_paths(subject.folder, files).items()
    }
    pairs = {
        precision: GraphPair(subject.folder / files.encoder, subject.folder / files.decoder, spec)
        for precision, files in subject.graphs.items()
    }
    reference = ReferenceNetwork(subject.checkpoint, spec)
    sentences = subject.framing.frame(built_in_sentences("agreement"))
    verification = Verification(
        structures=structures,
        parities={
            precision: check_parity(pair, spec, reference if precision == "fp32" else None)
            for precision, pair in pairs.items()
        },
        agreements={
            precision: measure_agreement(pairs["fp32"], pair, sentences, spec.positions.count - 1)
            for precision, pair in pairs.items()
            if precision != "fp32"
        },
        limits=limits,
        tokenizers=check_tokenizers(subject.checkpoint.folder, subject.framing.tokenizers),
    )
    if verification.problems:
        raise ExportError("the exported package does not compute what the checkpoint does", verification.problems)
    return verification


def _graph_paths(folder: Path, files: GraphFiles) -> dict[GraphKind, Path]:
    return {"encoder": folder / files.encoder, "decoder": folder / files.decoder}
