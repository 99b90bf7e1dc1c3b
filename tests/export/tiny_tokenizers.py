"""Small MarianMT tokenizer folders, trained in the test from sentences made here."""

import io
import itertools
import json
import random
from dataclasses import dataclass, field
from functools import cache

from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from sentencepiece.sentencepiece_model_pb2 import ModelProto

ENGLISH = tuple(
    f"{who} {does} the {what} {when}."
    for who, does, what, when in itertools.product(
        ("The captain", "My sister", "Nobody", "An old friend", "Every visitor"),
        ("sees", "painted", "has forgotten", "will repair", "likes"),
        ("harbour", "bridge", "small green boat", "umbrella", "old letters"),
        ("today", "before noon", "in the rain", "again, and again"),
    )
)
GERMAN = tuple(
    f"{who} {does} {what} {when}."
    for who, does, what, when in itertools.product(
        ("Der Kapitän", "Meine Schwester", "Niemand", "Ein alter Freund", "Jeder Gast"),
        ("sieht", "malte", "vergisst", "repariert", "mag"),
        ("den Hafen", "die Brücke", "das kleine grüne Boot", "den Schirm", "die Größe"),
        ("heute", "vor Mittag", "im Regen", "immer wieder, und überall"),
    )
)


@cache
def train(lines=ENGLISH, vocab_size=120, model_type="unigram", **options):
    """Trains a SentencePiece model in one thread and returns its file content."""
    written = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=written,
        vocab_size=vocab_size,
        model_type=model_type,
        hard_vocab_limit=False,
        num_threads=1,
        minloglevel=2,
        **options,
    )
    return written.getvalue()


def handmade(pieces, **normalizer):
    """A Unigram model file from (piece, score) pairs, with SentencePiece's three usual special pieces in front."""
    proto = ModelProto()
    proto.trainer_spec.model_type = 1
    for piece, kind in (("<unk>", 2), ("<s>", 3), ("</s>", 3)):
        proto.pieces.add(piece=piece, type=kind)
    for piece, score in pieces:
        proto.pieces.add(piece=piece, score=score)
    for name, value in normalizer.items():
        setattr(proto.normalizer_spec, name, value)
    return proto.SerializeToString()


def pieces_of(content):
    processor = SentencePieceProcessor(model_proto=content)
    return [processor.id_to_piece(token_id) for token_id in range(processor.get_piece_size())]


@dataclass
class TinyCheckpoint:
    """What a checkpoint folder is made from; change a field, then `write`."""

    source: bytes = field(default_factory=train)
    target: bytes = field(default_factory=lambda: train(GERMAN))
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    separate: bool = False
    spare_rows: int = 0
    options: dict = field(default_factory=dict)

    def vocabulary(self, *contents, seed):
        """Shuffled ids for all pieces but the missing ones; padding is last, as in real checkpoints."""
        names = {piece for content in contents for piece in pieces_of(content)} | {"</s>", "<unk>", *self.extra}
        ordered = sorted(names - {"<s>", "<pad>", *self.missing})
        random.Random(seed).shuffle(ordered)
        return {piece: token_id for token_id, piece in enumerate([*ordered, "<pad>"])}

    def write(self, folder):
        folder.mkdir(exist_ok=True)
        (folder / "source.spm").write_bytes(self.source)
        (folder / "target.spm").write_bytes(self.target)
        contents = (self.source,) if self.separate else (self.source, self.target)
        source_ids = self.vocabulary(*contents, seed=7)
        target_ids = self.vocabulary(self.target, seed=8) if self.separate else source_ids
        write_json(folder / "vocab.json", source_ids)
        if self.separate:
            write_json(folder / "target_vocab.json", target_ids)
        sizes = {
            "vocab_size": len(source_ids) + self.spare_rows,
            "decoder_vocab_size": len(target_ids) + self.spare_rows,
        }
        write_json(folder / "config.json", {"model_type": "marian", **sizes})
        write_json(folder / "tokenizer_config.json", {"separate_vocabs": self.separate, **self.options})
        return folder


def write_json(path, content):
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def read_ids(folder, name="vocab.json"):
    return json.loads((folder / name).read_text(encoding="utf-8"))


def two_step_ids(folder, text, side="source", name="vocab.json"):
    """SentencePiece pieces, then a dictionary look-up: what ids mean in a MarianMT checkpoint."""
    ids = read_ids(folder, name)
    pieces = SentencePieceProcessor(model_file=str(folder / f"{side}.spm")).encode(text, out_type=str)
    return [ids.get(piece, ids["<unk>"]) for piece in pieces]
