"""Runs every check on the files of a package that is about to be finished."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from export.checkpoint import Checkpoint
from export.graphs import Precision
from export.reference import ReferenceNetwork
from export.sample import Framing, built_in_sentences
from export.sizes import affordable_sentences
from export.tokenizer.parity import ParityReport
from export.tokenizer.parity import check_parity as check_tokenizers
from export.verify.agreement import Agreement, AgreementLimits, measure_against_reference, measure_agreement
from export.verify.graph_pair import GraphPair
from export.verify.parity import COMPANY_TOLERANCE, GraphParity, check_parity
from export.verify.structure import GraphStructure, check_structure
from service.errors import ExportError
from service.package.manifest import GraphFiles
from service.package.package import GraphKind

# Some minutes' worth, through the plain computation or both precisions step by step.
_MOST_READ = 10_000_000_000


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
    """Checks structure, parity and agreement. Raises ExportError with every problem.

    Graphs of float32 are compared with the plain computation of the network; the others with those graphs, or with the
    plain computation too where there are none.
    """
    spec = subject.framing.spec
    structures = {
        path.name: check_structure(path, kind, precision, spec)
        for precision, files in subject.graphs.items()
        for kind, path in _graph_paths(subject.folder, files).items()
    }
    reference = ReferenceNetwork(subject.checkpoint, spec)
    affordable = affordable_sentences(subject.checkpoint, spec, _MOST_READ)
    sentences = subject.framing.frame(built_in_sentences("agreement")[:affordable])
    parities: dict[str, GraphParity] = {}
    agreements: dict[str, Agreement] = {}
    exact = _open(subject, "fp32") if "fp32" in subject.graphs else None
    for precision in subject.graphs:
        if precision == "fp32" and exact is not None:
            parities[precision] = check_parity(exact, spec, reference)
            continue
        pair = _open(subject, precision)
        parities[precision] = check_parity(pair, spec, None, COMPANY_TOLERANCE[precision])
        longest = spec.max_target_tokens - 1
        agreements[precision] = (
            measure_against_reference(reference, pair, sentences, longest)
            if exact is None
            else measure_agreement(exact, pair, sentences, longest)
        )
    tokenizers = check_tokenizers(subject.framing.tokenizers)
    verification = Verification(structures, parities, agreements, limits, tokenizers)
    if verification.problems:
        raise ExportError("the exported package does not compute what the checkpoint does", verification.problems)
    return verification


def _open(subject: Subject, precision: Precision) -> GraphPair:
    paths = _graph_paths(subject.folder, subject.graphs[precision])
    return GraphPair(paths["encoder"], paths["decoder"], subject.framing.spec)


def _graph_paths(folder: Path, files: GraphFiles) -> dict[GraphKind, Path]:
    return {"encoder": folder / files.encoder, "decoder": folder / files.decoder}
