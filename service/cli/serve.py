"""`verso serve`."""

import sys
from typing import Any

import click

from service.cli.setting_options import setting_options, settings_from
from service.settings import Settings


@click.command(short_help="Serve translations over HTTP.")
@setting_options(Settings.model_fields)
def serve(**options: Any) -> None:
    """Serve translations over HTTP until SIGTERM or SIGINT.

    Every option is also an environment variable; the option wins. docs/configuration.md lists them.
    """
    settings = settings_from(options)
    from service.app import create_app
    from service.observability.logs import adopt_library_logs, create_logger
    from service.server import serve as serve_app

    logger = create_logger(sys.stderr, settings.log_level, settings.log_format)
    adopt_library_logs(logger, settings.log_level)
    serve_app(create_app(settings, logger), settings, logger)
