"""The command's verbs, its first screen of help, and errors: one line each, never a traceback."""

from __future__ import annotations

import os
import signal
import sys

import click

from haloscope.base.errors import HaloscopeError
from haloscope.cli.console import say
from haloscope.cli.groups import CommandGroup

# The rows of the first screen: a title, empty where a row continues the one above, and verbs with modules.
_ROWS: tuple[tuple[str, dict[str, str]], ...] = (
    ("Profile", {"run": "watch", "env": "watch", "hang": "hang", "top": "top"}),
    ("Explain", {"findings": "findings", "report": "report", "show": "show"}),
    ("Compare", {"compare": "compare", "check": "check"}),
    ("Speed up", {"improve": "improve", "tune": "tune"}),
    ("Set up", {"demo": "demo", "doctor": "doctor"}),
    ("More", {"recover": "recover", "export": "export", "history": "history", "regimes": "regimes"}),
    ("", {"bench": "bench", "simulate": "simulate", "inject": "inject", "place": "place", "shm": "shm"}),
    ("", {"campaign": "campaign", "study": "study"}),
)
_ALIASES = {"diff": "compare", "variability": "regimes"}
# `where` is for scripts, so it is not on the first screen.
_VERBS = {verb: module for _, verbs in _ROWS for verb, module in verbs.items()} | {"where": "where"}
_ALL = "(haloscope help --all)"
_EXAMPLES = """
Examples:
  haloscope demo
  haloscope run -o app.halo -- mpiexec -n 8 ./app input.txt
  haloscope findings app.halo
  haloscope report app.halo --open

haloscope COMMAND -h explains a command, haloscope --version prints the version.
"""


def all_verbs() -> list[str]:
    """Return all verbs, by group."""
    return list(_VERBS)


class _Front(CommandGroup):
    """The command itself: its help is one screen, for which no verb has to be loaded."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs as a table of contents."""
        formatter.write(f"Usage: haloscope COMMAND [OPTIONS] [ARGUMENTS]\n\n{self.help}\n\n")
        for title, verbs in _ROWS:
            row = "  ".join(map(_with_alias, verbs))
            formatter.write(f"{title:<13}{row}{f'      {_ALL}' if 'study' in verbs else ''}\n")
        formatter.write(_EXAMPLES)


def _with_alias(verb: str) -> str:
    return " ".join([verb, *(f"({alias})" for alias, name in _ALIASES.items() if name == verb)])


def _print_version(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked and not context.resilient_parsing:
        from haloscope.base.version import own_version

        click.echo(f"haloscope {own_version()}")
        context.exit()


@click.group(
    cls=_Front,
    modules=_VERBS,
    unlisted={"help": "help"},
    aliases=_ALIASES,
    help="Show where an MPI program loses time in communication, and what to do.",
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version and exit.",
)
def haloscope() -> None:
    """Hold the verbs."""


def _run(arguments: list[str]) -> int:
    try:
        result = haloscope.main(arguments, prog_name="haloscope", standalone_mode=False)
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
    except BrokenPipeError:  # the reader of our output is gone
        return 1
    except (KeyboardInterrupt, click.Abort):
        return 128 + signal.SIGINT
    except (OSError, ModuleNotFoundError) as error:
        return _print_and_return(_system(error), 1)


def _usage(error: click.UsageError) -> str:
    path = error.ctx.command_path if error.ctx else "haloscope"
    return f"{error.format_message().rstrip('.')} (see {path} --help)"


def _system(error: OSError | ModuleNotFoundError) -> str:
    """Return the line for an unexpected error of the system, or for a package that is in an extra."""
    if isinstance(error, ModuleNotFoundError):
        from haloscope.base.extras import remedy

        text = remedy(error)
        if text is None:
            raise error
        return text
    if isinstance(error, FileNotFoundError) and not error.filename and _is_removed():
        return "the current directory was removed; change to a different one"
    name = f"{os.fsdecode(error.filename)}: " if error.filename else ""
    return f"{name}{error.strerror or error}"


def _is_removed() -> bool:
    """Return whether the current directory does not exist."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _print_and_return(text: str, status: int) -> int:
    say(text)
    return status
