"""Source and target tokenizers of a package, on small files made here."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE, Unigram, WordLevel

from service.errors import PackageInvalidError
from service.package.tokenizer import EntryRole, SourceTokenizer, TargetTokenizer, hidden_name

ENTRIES = (
    (hidden_name(EntryRole.SPECIAL, "</s>"), 0.0),
    ("▁", -1.0),
    ("a", -2.0),
    (hidden_name(EntryRole.SPECIAL, "<unk>"), 0.0),
    (hidden_name(EntryRole.SURFACE, "☃☃"), 0.0),
    (hidden_name(EntryRole.ROW, "5"), 0.0),
)
SIZE, UNK, SPACE, A, SNOW = len(ENTRIES), 3, 1, 2, 4
# Segmentation needs this piece; the model has no row for it.
ADDED = (("bc", -1.5),)


def source_json(*more):
    tokenizer = Tokenizer(Unigram([*ENTRIES, *ADDED, *more], UNK, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Replace(" ", "▁"), normalizers.Prepend("▁")])
    return tokenizer.to_str()


def byte_entries():
    return [(hidden_name(EntryRole.BYTE, f"<0x{byte:02X}>"), 0.0) for byte in range(256)]


@pytest.fixture(scope="module")
def source():
    return SourceTokenizer.from_json(source_json(), SIZE, UNK)


@pytest.fixture(scope="module")
def target():
    ids = {"</s>": 0, "▁Das": 1, "▁": 2, "Boot": 3, "<unk>": 4, ".": 5}
    tokenizer = Tokenizer(WordLevel(ids, unk_token="<unk>"))
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in ("</s>", "<unk>")])
    tokenizer.decoder = decoders.Sequence([decoders.Fuse(), decoders.Replace("▁", " "), decoders.Strip(" ", 1, 0)])
    return TargetTokenizer.from_json(tokenizer.to_str())


def test_a_text_becomes_the_ids_of_its_pieces(source):
    assert source.encode("aa a") == [SPACE, A, A, SPACE, A]
    assert source.encode("") == []


def test_a_piece_without_a_row_becomes_the_unknown_id(source):
    assert source.encode("abca") == [SPACE, A, UNK, A]


def test_an_unknown_stretch_is_looked_up_as_a_whole(source):
    assert source.encode("a☃☃a") == [SPACE, A, SNOW, A]
    assert source.encode("☃") == source.encode("☃☃☃") == [SPACE, UNK]


@pytest.mark.parametrize("name", [*(name for name, _ in ENTRIES if " " in name), "</s>", "<unk>"])
def test_hidden_entries_are_not_found_in_texts(source, name):
    assert {0, 5}.isdisjoint(source.encode(name))


def test_an_unknown_stretch_is_spelled_in_bytes_where_the_model_can():
    source = SourceTokenizer.from_json(source_json(*byte_entries()), SIZE + 257, UNK)
    assert source.encode("a☃☃") == [SPACE, A] + [SIZE + 1 + byte for byte in "☃☃".encode()]
    assert source.encode("<0x41>")[1] != SIZE + 1 + 0x41


@pytest.fixture(scope="module")
def bpe():
    names = [name for name, _ in ENTRIES] + ["b", "bc", "c"]
    ids = {name: token_id for token_id, name in enumerate(names)}
    tokenizer = Tokenizer(BPE(ids, [("b", "c")], unk_token=names[UNK], fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Replace(" ", "▁"), normalizers.Prepend("▁")])
    tokenizer.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    return SourceTokenizer.from_json(tokenizer.to_str(), SIZE, UNK)


def test_bpe_looks_unknown_stretches_up_as_they_are_spelled(bpe):
    assert bpe.encode("a☃☃a ☃☃") == [SPACE, A, SNOW, A, SPACE, SNOW]
    assert bpe.encode("☃ é☃☃") == [SPACE, UNK, SPACE, UNK]


def test_bpe_pieces_without_a_row_become_the_unknown_id_one_by_one(bpe):
    assert bpe.encode("abcba") == [SPACE, A, UNK, UNK, A]


@pytest.mark.parametrize("name", [*(name for name, _ in ENTRIES if " " in name), "</s>", "<unk>"])
def test_bpe_does_not_find_hidden_entries_in_texts(bpe, name):
    assert {0, 5}.isdisjoint(bpe.encode(name))


def test_bytes_without_a_row_become_the_unknown_id():
    source = SourceTokenizer.from_json(source_json(*byte_entries()), SIZE, UNK)
    assert source.encode("☃") == [SPACE, UNK, UNK, UNK]


def test_pieces_are_shown_as_the_checkpoint_names_them(source):
    assert source.pieces([0, 1, 2, 4, 5, 999]) == ["</s>", "▁", "a", "☃☃", "", ""]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=5))
def test_any_text_gives_ids_within_the_vocabulary_alone_and_in_company(source, texts):
    together = source.encode_batch(texts)
    assert together == [source.encode(text) for text in texts]
    assert all(0 <= token_id < SIZE for ids in together for token_id in ids)


@pytest.mark.parametrize("text", ["a\0a", "\0", "\x1b[31m\x7f", "\ufffe\uffff\U0010ffff"])
def test_control_characters_and_noncharacters_are_ordinary_unknowns(source, text):
    assert set(source.encode(text)) <= {SPACE, A, UNK}


def test_lone_surrogates_are_refused(source):
    with pytest.raises(TypeError):
        source.encode("a\ud800")


def test_threads_may_share_a_tokenizer(source):
    texts = [f"{'a' * n} bc ☃☃" for n in range(200)]
    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(source.encode, texts)] == source.encode_batch(texts)


@pytest.mark.parametrize(("size", "unk"), [(100, 3), (4, 4), (4, -1)])
def test_a_file_that_does_not_fit_the_model_is_refused(size, unk):
    with pytest.raises(PackageInvalidError, match="does not fit"):
        SourceTokenizer.from_json(source_json(), size, unk)


def test_target_ids_become_text(target):
    assert target.decode([1, 2, 3, 5]) == "Das Boot."
    assert target.decode([]) == ""


def test_special_ids_and_ids_without_a_piece_leave_no_trace(target):
    assert target.decode([0, 1, 4, 77, 5, 0]) == "Das."
    assert target.pieces([0, 1, 77]) == ["</s>", "▁Das", ""]


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"\xff\xfe", None])
def test_files_that_are_no_tokenizers_are_refused(tmp_path, content):
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PackageInvalidError, match="tokenizer"):
        TargetTokenizer.load(path)
    with pytest.raises(PackageInvalidError, match="tokenizer"):
        SourceTokenizer.load(path, SIZE, UNK)


def test_files_are_loaded_from_disk(tmp_path, source):
    path = tmp_path / "source_tokenizer.json"
    path.write_text(source_json(), encoding="utf-8")
    assert SourceTokenizer.load(path, SIZE, UNK).encode("a☃☃ bc") == source.encode("a☃☃ bc")
