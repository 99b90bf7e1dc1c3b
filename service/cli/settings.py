"""`verso settings`."""

import click

from service.settings import load_settings, variable
from service.settings_page import default_text, render_settings_page


@click.command(short_help="Show the settings in effect, or the reference of all.")
@click.option("--markdown", is_flag=True, help="Write the reference of every setting (docs/configuration.md).")
def settings(markdown: bool) -> None:
    """Show the settings that the environment gives, one a line; all problems when they are not valid."""
    if markdown:
        click.echo(render_settings_page(), nl=False)
        return
    for name, value in load_settings():
        click.echo(f"{variable(name)}={default_text(value)}")
