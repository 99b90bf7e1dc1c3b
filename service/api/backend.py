"""What the routes need of the rooms below: a translator and the registry of loaded models.

Protocols, because tests answer requests with scripted doubles in place of models.
"""

from dataclasses import dataclass
from typing import Protocol

from service.translation.registry import LanguagePairInfo, ModelInfo, QueueGauges
from service.translation.translation import TranslationRequest, TranslationResult


class Translates(Protocol):
    """Translates requests; cancelling the awaiting task gives the work up."""

    async def translate(self, request: TranslationRequest) -> TranslationResult: ...


class LoadedModels(Protocol):
    """The loaded models, what they translate and how busy they are."""

    def languages(self) -> tuple[LanguagePairInfo, ...]: ...

    def models(self) -> tuple[ModelInfo, ...]: ...

    def ready(self) -> bool: ...

    def load_gauges(self) -> QueueGauges: ...

    def close(self, drain_seconds: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Backend:
    """A translator and the registry it draws on."""

    translator: Translates
    registry: LoadedModels
