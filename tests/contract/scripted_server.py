"""A process that serves a scripted backend: python -m tests.contract.scripted_server DELAY TIMEOUT MODE

DELAY, TIMEOUT: seconds of the drain. MODE: `quick` answers at once, `hold` never, `broken` fails to load.
Its log goes to standard error.
"""

import sys

from service.api.backend import Backend
from service.app import create_app
from service.errors import PackageInvalidError
from service.observability.logs import Logger, adopt_library_logs, create_logger
from service.scheduler.stats import StatsSink
from service.server import serve
from service.settings import Settings
from service.translation.translation import TranslationRequest, TranslationResult
from tests.contract.scripted_backend import ScriptedRegistry, ScriptedTranslator


class LoggedTranslator(ScriptedTranslator):
    """Says `translating` when a request has reached it."""

    def __init__(self, logger: Logger, holds: bool) -> None:
        super().__init__(holds=holds)
        self.logger = logger

    async def translate(self, request: TranslationRequest) -> TranslationResult:
        self.logger.info("translating")
        return await super().translate(request)


def main(delay: str, timeout: str, mode: str) -> None:
    settings = Settings(port=0, drain_delay_seconds=float(delay), drain_timeout_seconds=float(timeout))
    logger = create_logger(sys.stderr, "info", "json")
    adopt_library_logs(logger, "info")

    def opener(settings: Settings, sink: StatsSink) -> Backend:
        if mode == "broken":
            raise PackageInvalidError("models cannot be loaded", ["a: damaged", "b: damaged"])
        return Backend(LoggedTranslator(logger, holds=mode == "hold"), ScriptedRegistry())

    try:
        serve(create_app(settings, logger, opener), settings, logger)
    except PackageInvalidError as error:
        print(*error.problems, sep="\n")
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
