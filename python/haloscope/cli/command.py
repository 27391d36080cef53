"""The command's verbs and its manners: one line for what goes wrong, never a traceback."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from importlib import import_module
from pathlib import Path

import click

from haloscope.base.errors import HaloscopeError
from haloscope.cli.console import say

__all__ = ["all_verbs", "haloscope"]

# The verbs by group, each with the module of this package that has it, which is loaded when the verb is used.
_GROUPS = {
    "Watch": {"run": "watch", "env": "watch", "top": "top", "recover": "recover"},
    "Explain": {
        "show": "show",
        "findings": "findings",
        "report": "report",
        "export": "export",
        "history": "history",
        "regimes": "regimes",
        "compare": "compare",
        "check": "check",
    },
    "Predict": {"bench": "bench", "model": "model", "tune": "tune", "simulate": "simulate"},
    "Hide": {"inject": "inject", "shm": "shm", "place": "place", "improve": "improve"},
    "Reproduce": {"campaign": "campaign", "study": "study"},
    "This installation": {"demo": "demo", "doctor": "doctor", "where": "where"},
}
_VERBS = {verb: module for verbs in _GROUPS.values() for verb, module in verbs.items()}
_EXAMPLES = """\b
Examples:
  haloscope demo
  haloscope run -- mpiexec -n 8 ./app input.txt
  haloscope show app-8-20260101-120000.halo
  haloscope report app-8-20260101-120000.halo -o report.html
"""


def all_verbs() -> list[str]:
    """Return all verbs, by group."""
    return list(_VERBS)


class _Verbs(click.Group):
    """Loads a verb's module only when it is asked for: `where` must not wait for tables."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return all_verbs()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _VERBS:
            return None
        module = import_module(f"haloscope.cli.{_VERBS[cmd_name]}")
        command = getattr(module, cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs as a table of contents, each with its whole first sentence."""
        for group, verbs in _GROUPS.items():
            commands = [(verb, self.get_command(ctx, verb)) for verb in verbs]
            with formatter.section(group):
                formatter.write_dl(
                    [(verb, command.get_short_help_str(200)) for verb, command in commands if command]
                )


@click.group(cls=_Verbs, no_args_is_help=False, invoke_without_command=True, epilog=_EXAMPLES)
@click.option("--version", is_flag=True, help="Print the version and exit.")
@click.pass_context
def haloscope(context: click.Context, version: bool) -> None:
    """Watch what the processes of an MPI program say to each other, and explain it."""
    if version:
        from importlib import metadata

        click.echo(f"haloscope {metadata.version('haloscope')}")
    elif context.invoked_subcommand is None:
        raise click.UsageError(f"say what to do: {', '.join(_VERBS)}")


def _run(arguments: list[str]) -> int:
    try:
        result = haloscope.main(arguments, prog_name="haloscope", standalone_mode=False)
        if sys.stdout is not None:  # it may have been closed: >&-
            sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.UsageError as error:
        return _print_and_return(_usage(error), 2)
    except click.ClickException as error:
        return _print_and_return(error.format_message(), error.exit_code)
    except HaloscopeError as error:
        return _print_and_return(str(error), error.exit_status)
    except BrokenPipeError:
        return _silenced()
    except (KeyboardInterrupt, click.Abort):
        return 128 + signal.SIGINT
    except (OSError, ModuleNotFoundError) as error:
        return _print_and_return(_system(error), 1)


def _usage(error: click.UsageError) -> str:
    path = error.ctx.command_path if error.ctx else "haloscope"
    return f"{error.format_message().rstrip('.')} (see {path} --help)"


def _system(error: OSError | ModuleNotFoundError) -> str:
    """Return the line for an error of the system that nobody foresaw, or for a package that an extra has."""
    if isinstance(error, ModuleNotFoundError):
        from haloscope.base.extras import remedy

        text = remedy(error)
        if text is None:
            raise error
        return text
    name = f"{os.fsdecode(error.filename)}: " if error.filename else ""
    return f"{name}{error.strerror or error}"


def _print_and_return(text: str, status: int) -> int:
    say(text)
    return status


def _silenced() -> int:
    """Print nothing more, also at exit, as the reader of our output is gone. Return the status."""
    with contextlib.suppress(OSError), Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
    return 1
