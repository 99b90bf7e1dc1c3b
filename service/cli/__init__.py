"""The `verso` command. Each subcommand is a module here that loads what it needs only when it runs."""

from service.cli.main import main

__all__ = ["main"]
