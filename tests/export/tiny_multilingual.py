"""Small tokenizer folders of the multilingual families, trained in the test; no weights."""

import random
from dataclasses import dataclass, field
from functools import cache

from sentencepiece import SentencePieceProcessor
from sentencepiece.sentencepiece_model_pb2 import ModelProto

from tests.export.tiny_tokenizers import ENGLISH, GERMAN, pieces_of, train, write_json

LINES = (*ENGLISH, *GERMAN)
NLLB_LANGUAGES = ("ace_Arab", "deu_Latn", "eng_Latn", "zho_Hans")
# Texts that spell tokens of one family or another.
SPELLED = (
    "</s>",
    "a </s> b <s> c <unk> d <pad> e <mask>",
    ">>deu<< the bridge",
    "deu_Latn the bridge",
    "de_DE the bridge de_DE",
    "__de__ the bridge",
    "<2de> the bridge <2de>",
    "<extra_id_0> the bridge <extra_id_4>",
    "<0x41> <0xE2>",
)
FAIRSEQ_SPECIAL = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}


def trained(**options):
    """A SentencePiece model of English and German with the usual three special pieces."""
    return train(LINES, **{"vocab_size": 160, **options})


def trained_t5(**options):
    """A SentencePiece model whose special pieces are those of T5."""
    return trained(pad_id=0, eos_id=1, unk_id=2, bos_id=-1, **options)


@cache
def with_pieces(content, *pieces, at=3, kind=1):
    """The model with more pieces of score 0, put in at one place."""
    proto = ModelProto()
    proto.ParseFromString(content)
    rest = list(proto.pieces[at:])
    del proto.pieces[at:]
    for piece in pieces:
        proto.pieces.add(piece=piece, score=0.0, type=kind)
    proto.pieces.extend(rest)
    return proto.SerializeToString()


def changed(content, **normalizer):
    """The model with other settings of its normaliser."""
    proto = ModelProto()
    proto.ParseFromString(content)
    for name, value in normalizer.items():
        setattr(proto.normalizer_spec, name, value)
    return proto.SerializeToString()


@dataclass
class TinyM2M100:
    """An M2M100 folder: ids of pieces are shuffled, languages follow them, then rows without a token."""

    model: bytes = field(default_factory=lambda: trained(model_type="bpe"))
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    num_languages: int = 100
    options: dict = field(default_factory=dict)
    added: dict = field(default_factory=dict)
    spare_rows: int = 8

    def vocabulary(self):
        pieces = [piece for piece in pieces_of(self.model) if piece not in {*FAIRSEQ_SPECIAL, *self.missing}]
        ordered = [*pieces, *self.extra]
        random.Random(5).shuffle(ordered)
        ids = {**FAIRSEQ_SPECIAL, **{piece: token_id for token_id, piece in enumerate(ordered, 4)}}
        # The unknown token is not where it belongs in the file: only values count.
        return {piece: ids[piece] for piece in sorted(ids, key=lambda piece: (piece == "<unk>", piece))}

    def write(self, folder):
        folder.mkdir(exist_ok=True)
        ids = self.vocabulary()
        (folder / "sentencepiece.bpe.model").write_bytes(self.model)
        write_json(folder / "vocab.json", ids)
        rows = len(ids) + self.num_languages + len(self.added) + self.spare_rows
        write_json(folder / "config.json", {"model_type": "m2m_100", "vocab_size": rows})
        write_json(folder / "tokenizer_config.json", {"tokenizer_class": "M2M100Tokenizer", **self.options})
        if self.added:
            write_json(folder / "added_tokens.json", self.added)
        return folder


@dataclass
class TinyFairseq:
    """An NLLB or mBART folder.

    languages: what special_tokens_map.json lists, None for no such file. added: tokens with ids in
    tokenizer_config.json. num_rows: 0 for as many as there are tokens, and two more.
    """

    model: bytes = field(default_factory=lambda: trained(model_type="bpe"))
    model_type: str = "m2m_100"
    languages: tuple[str, ...] | None = NLLB_LANGUAGES
    added: dict = field(default_factory=dict)
    options: dict = field(default_factory=dict)
    num_rows: int = 0

    @property
    def first_language_id(self):
        return len(pieces_of(self.model)) + 1

    def write(self, folder):
        folder.mkdir(exist_ok=True)
        (folder / "sentencepiece.bpe.model").write_bytes(self.model)
        rows = self.num_rows or self.first_language_id + len(self.languages or ()) + 3
        write_json(folder / "config.json", {"model_type": self.model_type, "vocab_size": rows, "bos_token_id": 0})
        decoder = {str(i): {"content": token, "special": True} for token, i in self.added.items()}
        write_json(folder / "tokenizer_config.json", {"added_tokens_decoder": decoder, **self.options})
        if self.languages is not None:
            write_json(folder / "special_tokens_map.json", {"additional_special_tokens": list(self.languages)})
        return folder


@dataclass
class TinyT5Tokenizer:
    """A T5, mT5 or MADLAD folder: the model's own ids, and rows behind them."""

    model: bytes = field(default_factory=trained_t5)
    options: dict = field(default_factory=lambda: {"extra_ids": 5})
    config: dict = field(default_factory=dict)
    spare_rows: int = 9

    def write(self, folder):
        folder.mkdir(exist_ok=True)
        (folder / "spiece.model").write_bytes(self.model)
        rows = len(pieces_of(self.model)) + self.spare_rows
        config = {"model_type": "t5", "vocab_size": rows, "eos_token_id": 1, "pad_token_id": 0, **self.config}
        write_json(folder / "config.json", config)
        write_json(folder / "tokenizer_config.json", self.options)
        return folder


def tiny_madlad(*codes, model=None, kind=1, **normalizer):
    """A MADLAD folder: language pieces of score 0 among the others, spaces kept, bytes for unknown characters."""
    plain = model or trained(
        vocab_size=420,
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        allow_whitespace_only_pieces=True,
    )
    content = changed(with_pieces(plain, "\n", *(f"<2{code}>" for code in codes), kind=kind), **normalizer)
    return TinyT5Tokenizer(content, {"extra_ids": 0}, {"eos_token_id": 2, "pad_token_id": 1})


def processor_of(content):
    return SentencePieceProcessor(model_proto=content)


def source_of(tokenizers):
    return tokenizers.source_tokenizer()


def target_of(tokenizers):
    return tokenizers.target_tokenizer()
