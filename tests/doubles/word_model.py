"""A model without a network: targets are a function of source tokens, attention says which token came from which.

Its tokenizer knows ASCII, German letters and a little punctuation, and spells words in pieces of five letters. The pool
answers at once. All of the use case above the scheduler runs as with a real model.
"""

import random
import re
import types
import zlib
from collections.abc import Callable, Sequence

import numpy as np

from service.errors import QueueFullError
from service.package.manifest import Manifest
from service.scheduler.pool import Dispatch, Share
from service.scheduler.sequence import Sequence as DecodeSequence
from service.scheduler.sequence import SequenceResult, Submission
from service.search.hypothesis import Hypothesis, StopReason
from service.search.options import DecodingOptions, guarded
from service.translation.codes import DeclaredCodes
from service.translation.direction import Direction
from service.translation.known_characters import KnownCharacters
from service.translation.registry import Registry
from service.translation.translator import Translator
from tests.unit.manifest_content import CONTENT

EOS, UNKNOWN = 0, 1
_KNOWN = re.compile(r"[A-Za-z0-9ÄÖÜäöüß.,:;!?'\"()%/+=*#$-]")
_TOKEN = re.compile(r"(\s*)(\w+|[^\w\s])")

Mangle = Callable[[list[int], random.Random], list[tuple[int, int | None]]]
"""From source ids to target ids, each with the place of the source token it came from."""


def identity(ids: list[int], chance: random.Random) -> list[tuple[int, int | None]]:
    return [(token, place) for place, token in enumerate(ids)]


def dropping_last(ids: list[int], chance: random.Random) -> list[tuple[int, int | None]]:
    return identity(ids, chance)[:-1]


class WordTokenizer:
    """Pieces as SentencePiece writes them, numbered in the order of their first appearance."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {"</s>": EOS, "<unk>": UNKNOWN}
        self._pieces = ["</s>", "<unk>", *(f"▁{char}" for char in map(chr, range(33, 127)) if _KNOWN.match(char))]
        self._ids |= {piece: number for number, piece in enumerate(self._pieces)}

    def encode(self, text: str) -> list[int]:
        ids: list[int] = []
        for space, token in _TOKEN.findall(" " + text.strip()):
            pieces = re.findall(r".{1,5}", token) if token.isalnum() else list(token)
            ids += [self._id(piece, begins=bool(space) and not number) for number, piece in enumerate(pieces)]
        return ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self._pieces[token] if token < len(self._pieces) else "" for token in ids]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self._pieces[token] for token in ids if token > UNKNOWN).replace("▁", " ").strip()

    def _id(self, piece: str, *, begins: bool) -> int:
        if not all(map(_KNOWN.match, piece)):
            return UNKNOWN
        piece = "▁" * begins + piece
        if piece not in self._ids:
            self._ids[piece] = len(self._pieces)
            self._pieces.append(piece)
        return self._ids[piece]


class WordPool:
    """Decodes at once, unless it is told to hold.

    asked: the sequences of each dispatch. refusals: of the next dispatches, which are refused. cancelled: how often
    something was given up.
    """

    def __init__(self, mangle: Mangle) -> None:
        self.mangle = mangle
        self.asked: list[list[DecodeSequence]] = []
        self.submissions: list[Submission] = []
        self.refusals: list[bool] = []
        self.hold = False
        self.cancelled = 0
        self.gate = types.SimpleNamespace(cancel=self._cancel)

    def dispatch(self, sequences: Sequence[DecodeSequence], deadline: float | None) -> Dispatch:
        if self.refusals and self.refusals.pop(0):
            raise QueueFullError("full", 1.0)
        self.asked.append(list(sequences))
        submission = Submission(sequences, deadline)
        self.submissions.append(submission)
        for sequence in sequences if not self.hold else ():
            result = SequenceResult(self._hypotheses(sequence), 0.0, 0.0, 0.0)
            submission.complete(sequence, result.hypotheses[0].stop_reason, result)
        return Dispatch((Share(self, submission, tuple(range(len(sequences)))),), len(sequences))

    def _cancel(self, submission: Submission) -> None:
        self.cancelled += 1

    def _hypotheses(self, sequence: DecodeSequence) -> tuple[Hypothesis, ...]:
        options, source = sequence.task.options, sequence.source_ids.tolist()
        # The draw depends on source and options only, as a real model's output does.
        seed = zlib.crc32(repr((source, options)).encode())
        ranks = range(options.num_hypotheses)
        return tuple(self._hypothesis(sequence, random.Random(seed + rank), rank) for rank in ranks)

    def _hypothesis(self, sequence: DecodeSequence, chance: random.Random, rank: int) -> Hypothesis:
        source = sequence.source_ids.tolist()
        said = self.mangle(source[:-1], chance)[: sequence.task.limit - 1]
        said.append((EOS, len(source) - 1))
        alignment = np.full((len(said), len(source)), 0.05 / len(source), np.float32)
        for row, (_, place) in enumerate(said):
            if place is not None:
                alignment[row, place] += 0.95
        alignment /= alignment.sum(axis=1, keepdims=True)
        return Hypothesis(
            token_ids=tuple(token for token, _ in said),
            token_log_probs=(-0.5,) * len(said),
            score=-1.0 - rank,
            stop_reason=StopReason.END_TOKEN,
            alignment=alignment if sequence.task.with_alignment else None,
        )


class WordModel:
    """Stands in for `LoadedModel`, English to German unless told otherwise."""

    def __init__(self, mangle: Mangle = identity, longest: int = 120, target: str = "de") -> None:
        content = {
            **CONTENT,
            "dimensions": {
                **CONTENT["dimensions"],
                "source_vocabulary_size": 100,
                "target_vocabulary_size": 80,
                "max_source_tokens": longest + 1,
                "max_target_tokens": 2 * longest + 2,
            },
            "languages": {"sources": {"en": {"suffix_ids": [EOS]}}, "targets": {target: {}}},
        }
        tokenizer = WordTokenizer()
        manifest = Manifest.model_validate(content)
        self.package = types.SimpleNamespace(manifest=manifest, source_tokenizer=tokenizer, target_tokenizer=tokenizer)
        self.name, self.pairs = "words", manifest.languages.pairs
        self.sources, self.targets = DeclaredCodes(["en"]), DeclaredCodes([target])
        self.defaults = guarded(DecodingOptions(max_new_tokens=400))
        self.known_characters = KnownCharacters(self.package)
        self.pool = WordPool(mangle)
        self.segments_in_window = 8

    def direction(self, source: str, target: str) -> Direction:
        return Direction(self.package, source, target)


def word_translator(mangle: Mangle = identity, **options) -> tuple[Translator, WordModel]:
    model = WordModel(mangle, **options)
    return Translator(Registry([model])), model
