"""Groups of commands: in their declared order, loaded on use, with a suggestion for a mistyped one."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class CommandGroup(click.Group):
    """A group whose commands are functions of modules in this package.

    `modules` has the module of each command. It is imported on first use: `where` must not wait for tables.
    `unlisted` are commands that `list_commands` leaves out, `aliases` further names of commands.
    """

    def __init__(
        self,
        *arguments: Any,
        modules: Mapping[str, str] | None = None,
        unlisted: Mapping[str, str] | None = None,
        aliases: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(*arguments, **settings)
        self._listed = list(modules or {})
        self._modules = {**(modules or {}), **(unlisted or {})}
        self._aliases = dict(aliases or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands in their declared order."""
        return [*self._listed, *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name or alias."""
        name = self._aliases.get(cmd_name, cmd_name)
        if name not in self._modules:
            return super().get_command(ctx, name)
        command = getattr(import_module(f"haloscope.cli.{self._modules[name]}"), name)
        assert isinstance(command, click.Command)
        return command

    def find_command(self, ctx: click.Context, name: str) -> click.Command:
        """Return the command of this name. Raises `UsageError` with the name that is closest to it."""
        command = self.get_command(ctx, name)
        if command is None:
            from difflib import get_close_matches

            known = [*self._modules, *self.commands, *self._aliases]
            hint = "".join(f" Did you mean '{close}'?" for close in get_close_matches(name, known, n=1))
            raise click.UsageError(f"No such command '{name}'.{hint}", ctx)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command with its whole first sentence."""
        commands = [(name, self.find_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(200)) for name, command in commands])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse a line without a command in one line instead of printing the help as an error."""
        if not args and not ctx.resilient_parsing:
            raise click.UsageError(f"name a command: {', '.join(self.list_commands(ctx))}", ctx)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the name, the command and its arguments."""
        if ctx.resilient_parsing or args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        command = self.find_command(ctx, args[0])
        return command.name, command, args[1:]
