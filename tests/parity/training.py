"""Trains tiny networks for some seconds, so that what they say varies with the source and ends at many lengths."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel


@dataclass(frozen=True, slots=True)
class Lesson:
    """What is taught: pairs of sources, special ids included, and targets without the end token, some at a time."""

    draw_pairs: Callable[[], tuple[list[list[int]], list[list[int]]]]
    steps: int
    start_id: int
    eos_id: int
    pad_id: int
    bans_pad: bool = False


def train(model: PreTrainedModel, lesson: Lesson) -> None:
    """Trains all weights but fixed positions; the same lesson gives the same weights on one machine."""
    trained = [parameter for name, parameter in model.named_parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=4e-3)
    for _ in range(lesson.steps):
        sources, targets = lesson.draw_pairs()
        source_ids = _padded(sources, lesson.pad_id)
        decoder_ids = _padded([[lesson.start_id, *target] for target in targets], lesson.pad_id)
        labels = _padded([[*target, lesson.eos_id] for target in targets], -100)
        mask = _padded([[1] * len(source) for source in sources], 0)
        logits = model(input_ids=source_ids, attention_mask=mask, decoder_input_ids=decoder_ids).logits
        if lesson.bans_pad:
            logits[..., lesson.pad_id] = -torch.inf
        loss = cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def _padded(lists: Sequence[Sequence[int]], filler: int) -> torch.Tensor:
    width = max(map(len, lists))
    return torch.tensor([[*ids, *[filler] * (width - len(ids))] for ids in lists])
