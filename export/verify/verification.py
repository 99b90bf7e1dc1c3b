"""Runs every check on the files of a package that is about to be finished."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from export.checkpoint import Checkpoint
from export.families.spec import ModelSpec
from export.graphs import Precision
from export.reference import ReferenceNetwork
from export.tokenizer.marian import MarianTokenizers
from export.tokenizer.parity import ParityReport
from export.tokenizer.parity import check_parity as check_tokenizers
from export.verify.agreement import Agreement, AgreementLimits, corpus_sentences, measure_agreement
from export.verify.graph_pair import GraphPair
from export.verify.parity import GraphParity, check_parity
from export.verify.structure import GraphStructure, check_structure
from service.errors import ExportError
from service.package.manifest import GraphFiles, SourceLanguage, TargetLanguage
from service.package.package import GraphKind
from service.package.tokenizer import SourceTokenizer


@dataclass(frozen=True, slots=True)
class Subject:
    """What is checked: the files in `folder`, what they were made from, and one language pair to try them on."""

    folder: Path
    checkpoint: Checkpoint
    spec: ModelSpec
    graphs: Mapping[Precision, GraphFiles]
    tokenizers: MarianTokenizers
    source: SourceLanguage
    target: TargetLanguage


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
    spec = subject.spec
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
    verification = Verification(
        structures=structures,
        parities={
            precision: check_parity(pair, spec, reference if precision == "fp32" else None)
            for precision, pair in pairs.items()
        },
        agreements={
            precision: measure_agreement(pairs["fp32"], pair, _framed_corpus(subject), spec.positions.count - 1)
            for precision, pair in pairs.items()
            if precision != "fp32"
        },
        limits=limits,
        tokenizers=check_tokenizers(subject.checkpoint.folder, subject.tokenizers),
    )
    if verification.problems:
        raise ExportError("the exported package does not compute what the checkpoint does", verification.problems)
    return verification


def _graph_paths(folder: Path, files: GraphFiles) -> dict[GraphKind, Path]:
    return {"encoder": folder / files.encoder, "decoder": folder / files.decoder}


def _framed_corpus(subject: Subject) -> list[list[int]]:
    """The built-in sentences as source ids, framed for one language pair and cut to the positions there are."""
    spec, tokenizers = subject.spec, subject.tokenizers
    tokenizer = SourceTokenizer.from_json(
        tokenizers.source_json, tokenizers.source_vocabulary_size, tokenizers.source_special.unk
    )
    before = [*subject.target.source_prefix_ids, *subject.source.prefix_ids]
    after = list(subject.source.suffix_ids)
    room = spec.positions.count - len(before) - len(after)
    return [[*before, *ids[:room], *after] for ids in tokenizer.encode_batch(corpus_sentences())]
