"""`haloscope bench`: measures this system."""

from __future__ import annotations

from importlib import import_module

import click

__all__ = ["bench"]

# Each command with the module of this package that has it, as in command.py.
_COMMANDS = {
    "p2p": "bench_p2p",
    "collective": "bench_collective",
    "stencil": "bench_stencil",
    "overlap": "bench_stencil",
    "read": "bench_collective",
    "noise": "bench_noise",
}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"haloscope.cli.{_COMMANDS[cmd_name]}")
        command = getattr(module, cmd_name)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=_Commands)
def bench() -> None:
    """Measure this system: messages, collectives with every algorithm, stencils, noise."""
