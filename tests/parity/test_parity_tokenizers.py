"""Sources are framed as transformers frames them, and folders that transformers writes today are understood.

The cutting of texts is measured against SentencePiece, not here: apart from M2M100's, the tokenizers of transformers 5
are converted themselves, and differ from SentencePiece on purpose or not (white space, unknown characters, bytes).
"""

import pytest

from export.reading import read_checkpoint
from export.sample import Framing
from export.tokenizer.corpus import NATURAL_LINES
from export.tokenizer.fairseq import convert_mbart, convert_nllb
from export.tokenizer.language_lists import MBART25, MBART50
from export.tokenizer.parity import check_parity
from export.tokenizer.t5 import convert_t5
from tests.export.test_export_reading import write
from tests.export.tiny_families import TinyBart, TinyT5
from tests.export.tiny_multilingual import (
    FAIRSEQ_SPECIAL,
    LINES,
    NLLB_LANGUAGES,
    TinyFairseq,
    TinyM2M100,
    TinyT5Tokenizer,
    source_of,
    target_of,
    trained,
    trained_t5,
)

pytestmark = pytest.mark.parity


def nllb(**options):
    """Ids are given: transformers 5 puts listed languages behind the mask, where fairseq never had them."""
    first = TinyFairseq().first_language_id
    ids = {token: first + place for place, token in enumerate((*NLLB_LANGUAGES, "<mask>"))}
    options = {"tokenizer_class": "NllbTokenizer", "additional_special_tokens": list(NLLB_LANGUAGES), **options}
    return TinyFairseq(added={**FAIRSEQ_SPECIAL, **ids}, options=options)


NLLB, OLD_NLLB = nllb(), nllb(legacy_behaviour=True)
MBART_50 = TinyFairseq(trained(), "mbart", MBART50, options={"tokenizer_class": "MBart50Tokenizer"})
MBART_25 = TinyFairseq(trained(), "mbart", MBART25, options={"tokenizer_class": "MBartTokenizer"})

CASES = {
    "m2m100": (TinyM2M100(), lambda: TinyBart("m2m100"), "M2M100Tokenizer", "en", "de"),
    "nllb": (NLLB, lambda: TinyBart("m2m100"), "NllbTokenizer", "eng_Latn", "deu_Latn"),
    "old nllb": (OLD_NLLB, lambda: TinyBart("m2m100"), "NllbTokenizer", "eng_Latn", "deu_Latn"),
    "mbart-50": (MBART_50, lambda: TinyBart("mbart"), "MBart50Tokenizer", "en_XX", "de_DE"),
    "mbart-25": (MBART_25, lambda: TinyBart("mbart"), "MBartTokenizer", "en_XX", "de_DE"),
    "t5": (TinyT5Tokenizer(), TinyT5, "T5Tokenizer", "en", "de"),
}


def loaded(folder, name, **options):
    import transformers

    return getattr(transformers, name).from_pretrained(str(folder), **options)


@pytest.mark.parametrize("case", CASES)
def test_a_source_is_framed_as_transformers_frames_it(tmp_path, case):
    tokenizer, network, name, source, target = CASES[case]
    folder = write(tmp_path, tokenizer, network(), decoder_start_token_id=2)
    read = read_checkpoint(folder, (source,), (target,))
    framing = Framing(read.spec, read.tokenizers, read.languages.sources[source], read.languages.targets[target])
    languages = {} if name == "T5Tokenizer" else {"src_lang": source, "tgt_lang": target}
    theirs = loaded(folder, name, **languages)
    lines = [line for line in LINES if len(theirs(line)["input_ids"]) <= read.spec.max_source_tokens]
    assert len(lines) > 100
    assert framing.frame(lines) == [theirs(line)["input_ids"] for line in lines]
    if languages:
        forced = theirs.convert_tokens_to_ids(f"__{target}__" if case == "m2m100" else target)
        asked = read.languages.targets[target]
        assert forced in (asked.forced_first_id, asked.start_id)


def test_m2m100_texts_are_cut_and_joined_as_in_transformers(tmp_path):
    tiny = TinyM2M100(missing=("▁t", "e"))
    folder = write(tmp_path, tiny, TinyBart("m2m100"))
    read = read_checkpoint(folder, (), ())
    theirs = loaded(folder, "M2M100Tokenizer", src_lang="en", tgt_lang="de")
    lines = (*LINES[:200], *NATURAL_LINES)
    ids = source_of(read.tokenizers).encode_batch(lines)
    assert ids == [theirs(line, add_special_tokens=False)["input_ids"] for line in lines]
    texts = [theirs.decode(one, skip_special_tokens=True, clean_up_tokenization_spaces=False) for one in ids]
    assert [target_of(read.tokenizers).decode(one) for one in ids] == texts


@pytest.mark.parametrize(
    ("tokenizer", "name", "convert"),
    [
        (NLLB, "NllbTokenizer", convert_nllb),
        (MBART_50, "MBart50Tokenizer", convert_mbart),
        (TinyT5Tokenizer(trained_t5()), "T5Tokenizer", convert_t5),
    ],
    ids=["nllb", "mbart-50", "t5"],
)
def test_folders_without_a_sentencepiece_model_are_understood(tmp_path, tokenizer, name, convert):
    folder = tokenizer.write(tmp_path / "original")
    theirs = loaded(folder, name)
    written = tmp_path / "written"
    theirs.save_pretrained(str(written))
    (written / "config.json").write_bytes((folder / "config.json").read_bytes())
    assert not list(written.glob("*.model"))
    converted = convert(written)
    assert converted.language_ids == convert(folder).language_ids
    assert check_parity(converted).problems == ()
    assert source_of(converted).encode_batch(LINES) == [
        theirs(line, add_special_tokens=False)["input_ids"] for line in LINES
    ]
