"""A manifest that parses is consistent in itself; anything else is refused with its reason."""

import copy

import pytest
from pydantic import ValidationError

from service.package.manifest import Manifest
from tests.unit.manifest_content import CONTENT, HASH


def changed(path, value):
    """The content with one entry replaced; `path` is dotted."""
    content = copy.deepcopy(CONTENT)
    *parents, last = path.split(".")
    place = content
    for name in parents:
        place = place[name]
    place[last] = value
    return content


def test_a_consistent_manifest_survives_writing_and_reading():
    manifest = Manifest.model_validate(CONTENT)
    assert Manifest.model_validate_json(manifest.model_dump_json()) == manifest
    assert manifest.languages.pairs == (("en", "de"),)
    assert manifest.generation.length_penalty == 1.0


def test_every_source_with_every_other_target_is_a_pair():
    languages = {
        "sources": {code: {"suffix_ids": [0]} for code in ("de", "en")},
        "targets": {code: {} for code in ("fr", "en")},
    }
    pairs = Manifest.model_validate(changed("languages", languages)).languages.pairs
    assert pairs == (("de", "en"), ("de", "fr"), ("en", "fr"))


@pytest.mark.parametrize(
    ("path", "value", "part"),
    [
        ("format_version", 2, "format_version"),
        ("colour", "red", "colour"),
        ("name", "../x", "name"),
        ("dimensions.num_heads", 0, "num_heads"),
        ("dimensions.cache_head_width", 12, "multiple of 8"),
        ("dimensions.cache_head_width", 8, "at least head_width"),
        ("generation.max_new_tokens", 65, "max_new_tokens"),
        ("generation.forced_eos_id", 40, r"target ids \[40\]"),
        ("generation.early_stopping", "sometimes", "early_stopping"),
        ("alignment_layer", 1, "alignment_layer"),
        ("special_ids.source_unk", 50, r"source ids \[50\]"),
        ("special_ids.eos", 41, r"target ids \[41\]"),
        ("banned_ids", [0], "eos must not be banned"),
        ("banned_ids", [99], r"target ids \[99\]"),
        ("languages.targets", {"en": {}}, "at least one pair"),
        ("languages.targets", {}, "targets"),
        ("languages.targets", {"de": {"source_prefix_ids": [77]}}, r"source ids \[77\]"),
        ("languages.targets", {"de": {"forced_first_id": 77}}, r"target ids \[77\]"),
        ("languages.targets", {"de": {"start_id": 40}}, r"target ids \[40\]"),
        ("languages.targets", {"de": {"start_id": -1}}, "start_id"),
        ("languages.sources", {"en us": {"suffix_ids": [0]}}, "en us"),
        ("default_precision", "int8", "default_precision int8"),
        ("precisions", {}, "precisions"),
        ("tokenizers.source", "elsewhere.json", "elsewhere.json has no entry"),
        ("tokenizers.source", "../s.json", "tokenizers"),
        ("files", {"/etc/passwd": {"size_bytes": 1, "sha256": HASH}}, "files"),
        ("origin.weights_sha256", "abc", "weights_sha256"),
    ],
)
def test_what_is_wrong_is_named(path, value, part):
    with pytest.raises(ValidationError, match=part):
        Manifest.model_validate(changed(path, value))


def test_a_target_may_have_a_start_token_of_its_own():
    languages = Manifest.model_validate(changed("languages.targets", {"de": {"start_id": 38}})).languages
    assert languages.targets["de"].start_id == 38
    assert Manifest.model_validate(CONTENT).languages.targets["de"].start_id is None


def test_all_inconsistencies_are_named_together():
    content = changed("default_precision", "int8")
    content["alignment_layer"] = 3
    content["banned_ids"] = [0, 60]
    with pytest.raises(ValidationError) as caught:
        Manifest.model_validate(content)
    message = str(caught.value)
    assert all(part in message for part in ("default_precision", "alignment_layer", "[60]", "eos must not be banned"))


def test_a_manifest_cannot_be_changed():
    manifest = Manifest.model_validate(CONTENT)
    with pytest.raises(ValidationError):
        manifest.name = "other"
