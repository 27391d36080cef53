"""`haloscope help`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from haloscope.cli.groups import CommandGroup

_EXAMPLES = """\b
Examples:
  haloscope help compare
  haloscope help bench p2p
  haloscope help --all
"""


@click.command(epilog=_EXAMPLES)
@click.argument("words", nargs=-1, metavar="[COMMAND]")
@click.option("--all", "everything", is_flag=True, help="List every command with its purpose.")
@click.pass_context
def help(context: click.Context, words: tuple[str, ...], everything: bool) -> None:  # noqa: A001
    """Explain a command, or list the commands."""
    found = context.find_root()
    for word in words:
        if not isinstance(found.command, CommandGroup):
            raise click.UsageError(f"{found.command_path} has no commands, so no '{word}'", found)
        command = found.command.find_command(found, word)
        found = click.Context(command, parent=found, info_name=command.name)
    if not everything:
        click.echo(found.get_help())
        return
    formatter = found.make_formatter()
    formatter.write_dl(list(_purposes(found)), col_max=20)
    click.echo(formatter.getvalue().rstrip("\n"))


def _purposes(context: click.Context, words: str = "") -> Iterator[tuple[str, str]]:
    """Yield each command below this one, with its first sentence."""
    if not isinstance(context.command, CommandGroup):
        yield words, context.command.get_short_help_str(200)
        return
    for name in context.command.list_commands(context):
        command = context.command.find_command(context, name)
        below = click.Context(command, parent=context, info_name=name)
        yield from _purposes(below, f"{words} {name}".strip())
