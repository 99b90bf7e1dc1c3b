"""The command group: expected failures become one message, with every problem, on standard error.

Exit codes: 0 done, 1 the command failed, 2 the command or the settings were not valid.
"""

from typing import Any

import click

from service import VERSION
from service.cli.export import export
from service.cli.inspect import inspect
from service.cli.serve import serve
from service.cli.settings import settings
from service.cli.translate import translate
from service.errors import SettingsError, VersoError


class InvalidSettings(click.ClickException):
    """Settings are not valid: as wrong a call as a wrong option."""

    exit_code = 2


class VersoGroup(click.Group):
    """A group whose commands may raise errors of the service's tree."""

    def invoke(self, ctx: click.Context) -> Any:
        """Runs a command and turns an expected failure into click's."""
        try:
            return super().invoke(ctx)
        except VersoError as error:
            kind = InvalidSettings if isinstance(error, SettingsError) else click.ClickException
            raise kind("\n".join([error.message, *(f"  {line}" for line in error.problems)])) from error


@click.group(cls=VersoGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(VERSION, prog_name="verso")
def main() -> None:
    """Translate with neural models on your own machine."""


for _command in (serve, translate, inspect, export, settings):
    main.add_command(_command)
