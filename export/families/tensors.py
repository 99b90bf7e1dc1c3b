"""Holds the tensors of a checkpoint against a description: token tables, shapes, tensors that nobody uses.

A tensor's name says what it is, its shape follows from the configuration, and whether tables are tied is told by the
numbers in them, never by a flag.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from export.checkpoint import Checkpoint
from export.families.configuration import Findings
from export.families.spec import (
    AttentionKeys,
    FeedForwardKeys,
    LinearKeys,
    NetworkKeys,
    NormKeys,
    RecurrentKeys,
    SpecialIds,
)

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TableNames:
    """What a family calls its token tables: one for all, those of encoder and decoder, and that of the head."""

    shared: str
    source: str
    target: str
    head: str


@dataclass(frozen=True, slots=True)
class Tables:
    """Tensor names of the tables a network uses, and their numbers of rows; 0 rows where there is none."""

    source: str
    target: str
    head: str
    source_rows: int
    target_rows: int


@dataclass(frozen=True, slots=True)
class LayerSizes:
    """What the shapes of layers follow from: E, H, D, and the inner widths of the feed-forward blocks."""

    model_width: int
    num_heads: int
    head_width: int
    encoder_inner: int
    decoder_inner: int


def find_tables(checkpoint: Checkpoint, names: TableNames, flags: Mapping[str, str], found: Findings) -> Tables:
    """The tables of a checkpoint: a module's own tensor where the file has it, else what it may be tied to.

    The head's is never looked up in, unless it is named. A file with a single other table has it for everything.
    flags: the settings about "source" and "head" tables that the report sets beside what the file says.
    """
    if {names.shared, names.source, names.target, names.head} & checkpoint.names == {names.source}:
        found.decisions.append(f"{names.source} is the only table in the file: it is used for everything")
        return Tables(*(names.source,) * 3, *(_rows(checkpoint, names.source),) * 2)
    source = _first_present(checkpoint, "source embedding", (names.source, names.shared, names.target), found)
    target = _first_present(checkpoint, "target embedding", (names.target, names.shared), found)
    head = _first_present(checkpoint, "head", (names.head, names.target, names.shared), found)
    if all(name in checkpoint.names for name in (source, target, head)):
        for role, name, flag in (
            ("source and target embedding", source, flags.get("source")),
            ("head and target embedding", head, flags.get("head")),
        ):
            tied = name == target or checkpoint.equal(name, target)
            remark = f" (config.json: {flag} = {checkpoint.config.get(flag)})" if flag else ""
            found.decisions.append(f"{role}: {'one table' if tied else 'two tables'} in the file{remark}")
    return Tables(source, target, head, _rows(checkpoint, source), _rows(checkpoint, target))


def _first_present(checkpoint: Checkpoint, role: str, names: tuple[str, ...], found: Findings) -> str:
    for name in names:
        if name in checkpoint.names:
            return name
    found.problems.append(f"the {role} is missing: none of {', '.join(names)}")
    return names[0]


def _rows(checkpoint: Checkpoint, name: str) -> int:
    shape = checkpoint.shape(name) if name in checkpoint.names else ()
    return shape[0] if shape else 0


def check_tables(checkpoint: Checkpoint, keys: NetworkKeys, width: int, found: Findings) -> None:
    """Adds every table whose shape does not fit the width or the other tables. Missing ones are known already."""
    present = [name for name in (keys.source_table, keys.target_table, keys.head_table) if name in checkpoint.names]
    for name in dict.fromkeys(present):
        shape = checkpoint.shape(name)
        if len(shape) != 2 or shape[1] != width:
            found.problems.append(f"tensor {name} has shape {list(shape)}, not [vocabulary, {width}]")
    if len(present) < 3:
        return
    rows, outputs = _rows(checkpoint, keys.target_table), _rows(checkpoint, keys.head_table)
    if outputs != rows:
        found.problems.append(f"the head has {outputs} outputs for {rows} target tokens")
    if keys.head_bias is not None and checkpoint.shape(keys.head_bias) not in ((rows,), (1, rows)):
        shape = checkpoint.shape(keys.head_bias)
        found.problems.append(f"{keys.head_bias} has shape {list(shape)}, not [1, {rows}]")


def check_shapes(checkpoint: Checkpoint, expected: Mapping[str, Shape], found: Findings) -> None:
    """Adds every tensor that is missing or has another shape."""
    for name, shape in expected.items():
        if name not in checkpoint.names:
            found.problems.append(f"tensor {name} is missing")
        elif checkpoint.shape(name) != shape:
            found.problems.append(f"tensor {name} has shape {list(checkpoint.shape(name))}, not {list(shape)}")


def check_leftovers(
    checkpoint: Checkpoint, used: Iterable[str], tables: TableNames, ignored: Iterable[str], found: Findings
) -> None:
    """Adds every tensor that no part uses: the network must be another one than was read.

    ignored: patterns of names that may be there for no use. A table that is stored again under another of the names in
    `tables` is none of these.
    """
    wanted = frozenset(used)
    pattern = re.compile("|".join(ignored) or r"(?!)")
    aliases = (tables.shared, tables.source, tables.target, tables.head)
    stored = sorted(name for name in wanted & checkpoint.names if name in aliases)
    for name in sorted(checkpoint.names - wanted):
        if pattern.fullmatch(name):
            continue
        if name not in aliases:
            found.problems.append(f"tensor {name} belongs to no part of the network")
        elif not any(checkpoint.equal(name, other) for other in stored):
            found.problems.append(f"tensor {name} differs from every table in use ({', '.join(stored)})")


def check_ids(special: SpecialIds, banned: tuple[int, ...], rows: int, found: Findings) -> None:
    """Adds every special id beyond the target vocabulary of `rows`."""
    ids = {"decoder_start_token_id": special.decoder_start, "eos_token_id": special.eos, "pad_token_id": special.pad}
    found.problems += [
        f"config.json: {name} is {value}, beyond the target vocabulary of {rows}"
        for name, value in ids.items()
        if value >= rows > 0
    ]
    if special.eos in banned:
        found.problems.append("config.json: eos_token_id and pad_token_id are the same, so no translation could end")


def layer_shapes(keys: NetworkKeys, sizes: LayerSizes) -> dict[str, Shape]:
    """Expected shape of every tensor besides the tables, the head's bias and positions."""
    width = sizes.model_width
    shapes: dict[str, Shape] = {}
    for one in keys.encoder:
        shapes |= dict(_attention(one.attention, sizes))
        shapes |= dict(_feed_forward(one.feed_forward, width, sizes.encoder_inner))
    for layer in keys.decoder:
        shapes |= dict(_looking_back(layer.attention, sizes))
        shapes |= dict(_attention(layer.cross_attention, sizes))
        shapes |= dict(_feed_forward(layer.feed_forward, width, sizes.decoder_inner))
    norms = [norm for layers in (keys.encoder, keys.decoder) for layer in layers for norm in layer.norms]
    others = (
        keys.source_embedding_norm,
        keys.target_embedding_norm,
        keys.encoder_final_norm,
        keys.decoder_final_norm,
    )
    for norm in (*norms, *(other for other in others if other is not None)):
        shapes |= dict(_norm(norm, width))
    return shapes


def _attention(keys: AttentionKeys, sizes: LayerSizes) -> Iterator[tuple[str, Shape]]:
    inside = sizes.num_heads * sizes.head_width
    for linear in (keys.query, keys.key, keys.value):
        yield from _linear(linear, inside, sizes.model_width)
    yield from _linear(keys.output, sizes.model_width, inside)


def _looking_back(keys: AttentionKeys | RecurrentKeys, sizes: LayerSizes) -> Iterator[tuple[str, Shape]]:
    if isinstance(keys, AttentionKeys):
        yield from _attention(keys, sizes)
        return
    for linear in (keys.candidate, keys.forget, keys.output):
        if linear is not None:
            yield from _linear(linear, sizes.model_width, sizes.model_width)


def _feed_forward(keys: FeedForwardKeys, width: int, inner: int) -> Iterator[tuple[str, Shape]]:
    for linear in (keys.gate, keys.inner):
        if linear is not None:
            yield from _linear(linear, inner, width)
    yield from _linear(keys.outer, width, inner)


def _linear(keys: LinearKeys, outputs: int, inputs: int) -> Iterator[tuple[str, Shape]]:
    yield keys.weight, (outputs, inputs)
    if keys.bias is not None:
        yield keys.bias, (outputs,)


def _norm(keys: NormKeys, width: int) -> Iterator[tuple[str, Shape]]:
    yield keys.weight, (width,)
    if keys.bias is not None:
        yield keys.bias, (width,)
