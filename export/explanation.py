"""What the exporter makes of a checkpoint, for people: network, languages, decoding defaults, and every obstacle.

Nothing is written. A checkpoint that cannot be exported is explained as far as it is understood.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from export.checkpoint import Checkpoint
from export.families.registry import find_family
from export.families.spec import ModelSpec, RecurrentKeys
from export.graphs import Precision
from export.half_range import beyond_half, linear_tensors
from export.options import ExportOptions
from export.reading import ReadCheckpoint, read_checkpoint
from export.sizes import num_parameters
from service.errors import ExportError

# From so many on, names are counted.
_MANY = 9
# From here on, digits are grouped.
_LONG = 10_000

_POSITIONS: Mapping[str, str] = {
    "sinusoid_halves": "sinusoids, as Marian orders them",
    "sinusoid_fairseq": "sinusoids, as fairseq makes them",
    "learned": "a learned table",
}
_ACTIVATIONS: Mapping[str, str] = {"gelu_tanh": "gelu (by tanh)", "quick_gelu": "gelu (by sigmoid)", "swish": "swish"}


@dataclass(slots=True)
class Explanation:
    """family: None where it is unknown. facts: by subject, what is known of each; problems: why there is no export."""

    checkpoint: str
    family: str | None = None
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    decisions: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def to_json(self) -> str:
        """One JSON object."""
        content = {
            "checkpoint": self.checkpoint,
            "can_be_exported": not self.problems,
            "family": self.family,
            **self.facts,
            "decisions": list(self.decisions),
            "problems": list(self.problems),
        }
        return json.dumps(content, indent=2, ensure_ascii=False)

    def lines(self) -> Iterator[str]:
        """The same for reading."""
        verdict = "cannot be exported" if self.problems else "can be exported"
        yield f"{self.checkpoint}: {verdict} (family: {self.family or 'unknown'})"
        for subject, facts in self.facts.items():
            yield f"{subject}:"
            yield from (f"  {name.replace('_', ' ')}: {_words(value)}" for name, value in facts.items())
        for title, sentences in (("decisions", self.decisions), ("problems", self.problems)):
            if sentences:
                yield f"{title}:"
                yield from (f"  - {sentence}" for sentence in sentences)


def explain(options: ExportOptions) -> Explanation:
    """Reads a checkpoint as an export with these options would. Never raises for what is wrong with the checkpoint."""
    explanation = Explanation(options.checkpoint.name)
    try:
        checkpoint = Checkpoint.open(options.checkpoint)
        explanation.facts["weights"] = _weights(checkpoint)
        family = find_family(checkpoint)
    except ExportError as error:
        explanation.problems = error.problems or (error.message,)
        return explanation
    explanation.family = str(checkpoint.config["model_type"])
    try:
        read = read_checkpoint(options.checkpoint, options.sources, options.targets, options.text_prefixes)
    except ExportError as error:
        explanation.problems = error.problems or (error.message,)
        _explain_partly(explanation, checkpoint, lambda: family.describe(checkpoint))
        return explanation
    explanation.family = read.spec.family
    explanation.facts |= {
        "network": _network(checkpoint, read.spec),
        "languages": _languages(read),
        "decoding": read.defaults.generation.model_dump(mode="json"),
    }
    explanation.decisions = read.decisions
    explanation.problems = tuple(_obstacles(read, options.precisions))
    return explanation


def _explain_partly(explanation: Explanation, checkpoint: Checkpoint, describe: Callable[[], ModelSpec]) -> None:
    """Adds what is known of the network, where it is not the network that cannot be read."""
    try:
        spec = describe()
    except ExportError:
        return
    explanation.family = spec.family
    explanation.facts["network"] = _network(checkpoint, spec)
    explanation.decisions = spec.decisions


def _weights(checkpoint: Checkpoint) -> dict[str, Any]:
    files = [path.name for path in checkpoint.weight_files]
    return {
        "files": files if len(files) < _MANY else f"{len(files)}, from {files[0]} to {files[-1]}",
        "bytes": sum(path.stat().st_size for path in checkpoint.weight_files),
        "tensors": len(checkpoint.names),
        "made_by": "Marian" if checkpoint.native else "Hugging Face layout",
    }


def _network(checkpoint: Checkpoint, spec: ModelSpec) -> dict[str, Any]:
    keys = spec.keys
    inner = [checkpoint.shape(layers[0].feed_forward.inner.weight)[0] for layers in (keys.encoder, keys.decoder)]
    gated = keys.encoder[0].feed_forward.gate is not None
    recurrent = any(isinstance(layer.attention, RecurrentKeys) for layer in keys.decoder)
    norm = "RMS norm" if spec.norm_kind == "rms" else "layer norm"
    order = "before" if spec.norm_order == "pre" else "after"
    return {
        "parameters": num_parameters(checkpoint, spec),
        "layers": {"encoder": len(keys.encoder), "decoder": len(keys.decoder)},
        "width": spec.model_width,
        "heads": f"{spec.num_heads} of width {spec.head_width}",
        "attention_scale": spec.attention_scale,
        "feed_forward": {"encoder": inner[0], "decoder": inner[1], "gated": gated},
        "activation": _ACTIVATIONS.get(spec.activation, spec.activation),
        "norms": f"{norm} {order} each sub-layer, epsilon {spec.norm_epsilon}",
        "norms_on_embeddings": keys.source_embedding_norm is not None,
        "embedding_scale": spec.embedding_scale,
        "head_scale": spec.head_scale,
        "head_bias": keys.head_bias is not None,
        "positions": _positions(spec),
        "decoder_looks_back_by": "a recurrent unit (SSRU)" if recurrent else "attention",
        "vocabulary": {"source": spec.source_vocabulary_size, "target": spec.target_vocabulary_size},
        "most_tokens": {"source": spec.max_source_tokens, "target": spec.max_target_tokens},
        "special_ids": asdict(spec.special_ids),
    }


def _positions(spec: ModelSpec) -> str:
    if spec.positions is not None:
        return f"{_POSITIONS[spec.positions.kind]}, from row {spec.positions.first} on, {spec.positions.count} of them"
    if spec.relative is not None:
        return f"relative, in {spec.relative.num_buckets} buckets up to a distance of {spec.relative.max_distance}"
    return "none"


def _languages(read: ReadCheckpoint) -> dict[str, Any]:
    sources, targets = sorted(read.languages.sources), sorted(read.languages.targets)
    return {"pairs": len(read.languages.pairs), "sources": sources, "targets": targets}


def _obstacles(read: ReadCheckpoint, precisions: Sequence[Precision]) -> list[str]:
    """What only one precision cannot do."""
    return beyond_half(read.checkpoint, linear_tensors(read.spec.keys)) if "fp16" in precisions else []


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name.replace('_', ' ')} {_words(part)}" for name, part in value.items())
    if isinstance(value, list):
        return f"{len(value)} ({' '.join(value)})" if len(value) >= _MANY else ", ".join(value)
    return f"{value:,}" if isinstance(value, int) and value >= _LONG else str(value)
