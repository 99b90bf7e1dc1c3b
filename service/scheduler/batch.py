"""The running batch: sequences of all requests that share each decoder step.

Rows and memories are dense. A sequence joins with one row, spreads over as many as its beam is wide after its first
step, and leaves with all of them; the last rows then move into the gaps.
"""

import math
import time
from collections.abc import Iterable
from collections.abc import Sequence as Items
from dataclasses import dataclass

import numpy as np

from service.engine.arrays import BoolArray, FloatArray, IntArray, RowCopy, StepInputs
from service.engine.engine import Engine
from service.engine.gaps import close_gaps
from service.engine.sizes import one_of_few
from service.scheduler.planner import Load
from service.scheduler.rows import BeamRows
from service.scheduler.sequence import Sequence
from service.search.beam import BeamSearch
from service.search.greedy import GreedySearch
from service.search.group import SearchGroup
from service.search.hypothesis import Hypothesis
from service.search.rules import DecodingRules, StepScores

# What most steps ask for besides: nothing. Made once, because calls of numpy are slow right after the graph has run.
_NO_ROWS = np.zeros(0, np.int64)
_NO_PROBES = np.zeros((1 << 30, 0), np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Ended:
    """A sequence that left the batch; hypotheses is empty if the model gave it values that are not numbers."""

    sequence: Sequence
    hypotheses: tuple[Hypothesis, ...]


class RunningBatch:
    """Sequences, their rows, and what the next step feeds each row."""

    def __init__(self, engine: Engine, rules: DecodingRules) -> None:
        self._engine = engine
        self._rules = rules
        self._groups: dict[int, SearchGroup] = {}
        # A place is a group's width and a slot in that group.
        self._running: dict[tuple[int, int], Sequence] = {}
        self._places: dict[Sequence, tuple[int, int]] = {}
        # Of places whose beams have rows of their own; those that have yet to get them are fresh.
        self._beams: dict[tuple[int, int], BeamRows] = {}
        self._fresh: dict[tuple[int, int], None] = {}
        # Per row, (R,): the token to feed, how many are cached, the memory it looks at, and whether no other row ever
        # looks at that.
        self._tokens: IntArray
        self._positions: IntArray
        self._memories: IntArray
        self._solo: BoolArray
        self._forget_rows()
        # Of the last step, for whoever counts.
        self.engine_seconds = 0.0

    def __len__(self) -> int:
        return len(self._places)

    @property
    def num_rows(self) -> int:
        """Rows of the next step."""
        return len(self._tokens)

    @property
    def load(self) -> Load:
        """What the batch holds; rows count as reserved, so a sequence that has yet to spread counts with all."""
        return Load(
            num_rows=sum(sequence.num_rows for sequence in self._places),
            num_sources=len(self._places),
            longest=max((sequence.num_tokens for sequence in self._places), default=0),
        )

    def holds(self, sequence: Sequence) -> bool:
        """Says whether a sequence is running."""
        return sequence in self._places

    def encode(self, sequences: Items[Sequence]) -> None:
        """Gives sequences their memories; raises EngineError and gives none if that fails."""
        memories = self._engine.encode([sequence.source_ids for sequence in sequences])
        for sequence, memory in zip(sequences, memories, strict=True):
            sequence.memory = memory

    def admit(self, sequences: Items[Sequence]) -> None:
        """Takes sequences in; encodes those that have no memory, and if that raises EngineError takes none."""
        fresh = [sequence for sequence in sequences if sequence.memory is None]
        if fresh:
            self.encode(fresh)
        solo = np.array([sequence.num_rows == 1 for sequence in sequences])
        memories = self._engine.hold([one.memory for one in sequences if one.memory is not None], solo)
        for row, sequence in enumerate(sequences, self.num_rows):
            width = sequence.num_rows
            place = (width, self._group(width).join(sequence.task, row))
            self._places[sequence], self._running[place] = place, sequence
            if width > 1:
                self._fresh[place] = None
            sequence.memory = None
        starts = [self._rules.start_of(sequence.task.start_id) for sequence in sequences]
        self._tokens = np.concatenate([self._tokens, np.array(starts, np.int64)])
        self._positions = np.concatenate([self._positions, np.zeros(len(sequences), np.int64)])
        self._memories = np.concatenate([self._memories, memories])
        self._solo = np.concatenate([self._solo, solo])

    def step(self) -> list[Ended]:
        """Runs every row once; returns the sequences that ended. Raises EngineError if the engine does."""
        inputs = self._inputs()
        before = time.perf_counter()
        outputs = self._engine.step(inputs)
        self.engine_seconds = time.perf_counter() - before
        scores = StepScores(
            outputs.log_probs, outputs.ids, outputs.probes, outputs.log_normalizers, outputs.banned_logits
        )
        # Their sum is finite if and only if all of them are.
        sound = math.isfinite(sum(outputs.log_probs[:, 0].tolist()))
        ended: list[Ended] = []
        chosen: dict[int, tuple[IntArray, IntArray]] = {}
        for width, group in self._groups.items():
            if not len(group):
                continue
            selection = group.advance(scores, outputs.alignment)
            broken = [] if sound else self._broken(group, outputs.log_probs)
            leaving = sorted({*selection.ended, *broken})
            for index in leaving:
                slot = group.slots[index]
                ended.append(Ended(self._running[width, slot], () if index in broken else group.hypotheses(slot)))
            if leaving:
                stays = np.ones(len(group), np.bool_)
                stays[leaving] = False
                chosen[width] = selection.parents[stays], selection.tokens[stays]
            else:
                chosen[width] = selection.parents, selection.tokens
        freed, memories = self._leave(one.sequence for one in ended)
        vacant = self._spread(freed)
        for width, (parents, tokens) in chosen.items():
            self._continue(self._groups[width], parents, tokens)
        self._fresh.clear()
        self._positions += 1
        self._close_gaps(vacant, memories)
        return ended

    def drop(self, sequences: Iterable[Sequence]) -> None:
        """Takes sequences out before they have ended."""
        self._close_gaps(*self._leave(sequences))

    def clear(self) -> tuple[Sequence, ...]:
        """Takes everything out, after an engine failure, and returns it."""
        sequences = tuple(self._places)
        self._groups.clear()
        self._running.clear()
        self._places.clear()
        self._beams.clear()
        self._fresh.clear()
        self._forget_rows()
        self._engine.reset()
        return sequences

    def _forget_rows(self) -> None:
        self._tokens = self._positions = self._memories = np.zeros(0, np.int64)
        self._solo = np.zeros(0, np.bool_)

    def _group(self, width: int) -> SearchGroup:
        if width not in self._groups:
            self._groups[width] = BeamSearch(width, self._rules) if width > 1 else GreedySearch(self._rules)
        return self._groups[width]

    def _inputs(self) -> StepInputs:
        most = max(group.num_best() for group in self._groups.values() if len(group))
        wanted = [probe for group in self._groups.values() for probe in group.probes()]
        width = one_of_few(max((len(ids) for _, ids in wanted), default=0))
        probes = np.zeros((self.num_rows, width), np.int64) if width else _NO_PROBES[: self.num_rows]
        for row, ids in wanted:
            probes[row, : len(ids)] = ids
        aligned = [row for group in self._groups.values() for row in group.aligned_rows()]
        return StepInputs(
            tokens=self._tokens,
            positions=self._positions,
            memories=self._memories,
            solo=self._solo,
            probes=probes,
            aligned=np.array(sorted(set(aligned)), np.int64) if aligned else _NO_ROWS,
            num_best=one_of_few(most),
        )

    def _broken(self, group: SearchGroup, log_probs: FloatArray) -> list[int]:
        """Returns the indices of members with a row whose numbers are none."""
        is_broken = ~np.isfinite(log_probs[:, 0])[group.member_rows]
        return [index for index, rows in enumerate(is_broken.tolist()) if any(rows)]

    def _leave(self, sequences: Iterable[Sequence]) -> tuple[list[int], dict[bool, list[int]]]:
        """Takes sequences off the books; returns the rows and memories they leave behind, memories by being solo."""
        rows: list[int] = []
        memories: dict[bool, list[int]] = {True: [], False: []}
        for sequence in sequences:
            place = self._places.pop(sequence)
            del self._running[place]
            width, slot = place
            group = self._groups[width]
            # Before it has spread, all its beams are the same row.
            own = sorted(set(group.rows[slot].tolist()))
            rows.extend(own)
            memories[width == 1].append(int(self._memories[own[0]]))
            group.leave(slot)
            self._fresh.pop(place, None)
            self._beams.pop(place, None)
        return rows, memories

    def _spread(self, freed: list[int]) -> list[int]:
        """Gives sequences after their first step their further rows, freed ones first; returns freed ones left over."""
        vacant = list(freed)
        for width, slot in self._fresh:
            missing = width - 1 - len(vacant)
            if missing > 0:
                vacant.extend(range(self.num_rows, self.num_rows + missing))
                self._tokens, self._positions, self._memories = (
                    np.concatenate([values, np.zeros(missing, np.int64)])
                    for values in (self._tokens, self._positions, self._memories)
                )
                self._solo = np.concatenate([self._solo, np.zeros(missing, np.bool_)])
            group = self._groups[width]
            rows = [vacant.pop() for _ in range(width - 1)]
            group.rows[slot, 1:] = rows
            self._positions[rows] = 0
            self._memories[rows], self._solo[rows] = self._memories[group.rows[slot, 0]], False
        return vacant

    def _continue(self, group: SearchGroup, parents: IntArray, tokens: IntArray) -> None:
        """Moves what rows have cached to where beams go on, and sets what they are fed next; both (n, K) int64."""
        if not len(group):
            return
        if group.width > 1:
            self._follow(group, parents)
        self._tokens[group.member_rows] = tokens

    def _follow(self, group: SearchGroup, parents: IntArray) -> None:
        """Gives beams the rows they go on in; fresh ones continue their only row, whatever index the search gave."""
        copies: list[RowCopy] = []
        straight, only = list(range(group.width)), [0] * group.width
        all_rows = group.member_rows.tolist()
        for index, (slot, own) in enumerate(zip(group.slots, parents.tolist(), strict=True)):
            place, rows = (group.width, slot), all_rows[index]
            if place in self._fresh:
                own, self._beams[place] = only, BeamRows(group.width)
            elif own == straight:
                continue
            all_rows[index], moved = self._beams[place].follow(rows, own, self._positions.item(rows[0]) + 1)
            copies += moved
        group.member_rows = np.array(all_rows)
        self._engine.copy_rows(copies)

    def _close_gaps(self, rows: list[int], memories: dict[bool, list[int]]) -> None:
        """Moves the last rows and memories into the places of those that left."""
        if rows:
            mapping = close_gaps(np.array(rows, np.int64), self.num_rows)
            moved = np.flatnonzero((mapping >= 0) & (mapping != np.arange(self.num_rows)))
            whole = zip(moved.tolist(), mapping[moved].tolist(), self._positions[moved].tolist(), strict=True)
            self._engine.copy_rows([RowCopy(old, new, 0, length) for old, new, length in whole])
            for values in (self._tokens, self._positions, self._memories):
                values[mapping[moved]] = values[moved]
            self._solo[mapping[moved]] = self._solo[moved]
            kept = self.num_rows - len(rows)
            self._tokens, self._positions, self._memories = (
                values[:kept].copy() for values in (self._tokens, self._positions, self._memories)
            )
            self._solo = self._solo[:kept].copy()
            for group in self._groups.values():
                group.member_rows = mapping[group.member_rows]
        for solo, dropped in memories.items():
            if dropped:
                mapping = self._engine.forget(np.array(dropped, np.int64), solo=solo)
                own = self._solo == solo
                self._memories[own] = mapping[self._memories[own]]
