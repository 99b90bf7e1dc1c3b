"""Settings of Marian's decoder (decoder.yml) in the terms of `generation`: those of Hugging Face `generate`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from export.marian.folder import MarianFolder

# A score is divided by the length to the power of `normalize` in both programs, the end token counted.
_LEAST = {"beam-size": 1, "normalize": 0}
# Settings that must be off.
_UNSUPPORTED = ("word-penalty", "output-sampling", "force-decode")


@dataclass(frozen=True, slots=True)
class DecodingSettings:
    """Settings under the names of `generate`, empty where the folder has none; and what there is to say about them."""

    settings: Mapping[str, Any]
    problems: tuple[str, ...]
    decisions: tuple[str, ...]


def read_decoding(files: MarianFolder) -> DecodingSettings:
    """The decoding settings of a folder."""
    decoding, origin = files.decoding, files.decoding_file
    if not decoding:
        return DecodingSettings({}, (), ())
    problems = [
        f"{origin}: {name} must be a number of at least {least}, not {decoding[name]!r}"
        for name, least in _LEAST.items()
        if not isinstance(decoding.get(name, least), int | float) or decoding.get(name, least) < least
    ]
    problems += [
        f"{origin}: {name} = {decoding[name]!r} is not supported" for name in _UNSUPPORTED if decoding.get(name)
    ]
    if problems:
        return DecodingSettings({}, tuple(problems), ())
    settings = {
        "num_beams": int(decoding.get("beam-size", 1)),
        "length_penalty": float(decoding.get("normalize", 0)),
        # Marian's beam goes on with what is not finished. So does this, until nothing unfinished can win any more.
        "early_stopping": False,
        "renormalize_logits": True,
    }
    return DecodingSettings(settings, (), tuple(_decisions(decoding, origin)))


def _decisions(decoding: Mapping[str, Any], origin: str) -> list[str]:
    lines = [f"decoding settings are those of {origin}"]
    if factor := decoding.get("max-length-factor"):
        lines.append(f"{origin}: max-length-factor {factor} is not applied: limits are numbers of tokens here")
    if decoding.get("shortlist"):
        lines.append(f"{origin}: the shortlist is not used: every token can be written")
    return lines
