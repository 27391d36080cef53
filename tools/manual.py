"""Write the manual pages and the completion files of the command, from its click declarations:

    python tools/manual.py DIRECTORY VERSION

`DIRECTORY/man/man1` gets the pages. The completion files of bash, zsh and fish are where these shells look
below a `share`. The build of the wheel calls it (CMakeLists.txt), so it imports nothing but click.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
from click.shell_completion import ShellComplete, get_completion_class

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT / "python"))  # not installed yet
from haloscope import hide, watch  # noqa: E402
from haloscope.cli import haloscope  # noqa: E402

# The settings that are environment variables alone, by the page that has them.
_SETTINGS = {"run": watch.SETTINGS, "shm": hide.SHM_SETTINGS}
_COMPLETIONS = {
    "bash": "bash-completion/completions/haloscope",
    "zsh": "zsh/site-functions/_haloscope",
    "fish": "fish/vendor_completions.d/haloscope.fish",
}


def commands(command: click.Command = haloscope, words: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield every command, groups too, with its words, such as "bench p2p"."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands(found, f"{words} {name}".strip())


def manual_page(words: str, command: click.Command, version: str) -> str:
    """Return the page of a command, in the language of man(7)."""
    title = "haloscope " + words if words else "haloscope"
    page = _Formatter()
    page.write(f'.TH "{title.replace(" ", "-").upper()}" 1 "" "Haloscope {version}" "Haloscope"\n')
    page.write_heading("Name")
    page.write(f"{_escape(title.replace(' ', '-'))} \\- {_escape(command.get_short_help_str(200))}\n")
    front = click.Context(haloscope, info_name="haloscope", **haloscope.context_settings)
    context = click.Context(command, parent=front, info_name=words) if words else front
    command.format_usage(context, page)
    page.write_heading("Description")
    command.format_help_text(context, page)
    if isinstance(command, click.Group):
        below = [(name, found) for name, found in commands(command) if name]
        page.write_heading("Commands")
        page.write_dl([(name, found.get_short_help_str(200)) for name, found in below])
        click.Command.format_options(command, context, page)
    else:
        command.format_options(context, page)
    variables = [setting for setting in _SETTINGS.get(words, ()) if not setting.is_option]
    if variables:
        page.write_heading("Environment")
        page.write_dl([(s.variable, f"{s.description} [default: {s.default}]") for s in variables])
    command.format_epilog(context, page)
    return page.getvalue()


class _Formatter(click.HelpFormatter):
    """Writes what click prints as help in the language of man(7)."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        self.write_heading("Synopsis")
        self.write(f".B {_escape(prog)}\n{_escape(args)}\n")

    def write_heading(self, heading: str) -> None:
        self.write(f".SH {heading.upper()}\n")

    def write_paragraph(self) -> None:
        pass

    def write_text(self, text: str) -> None:
        for part in text.split("\n\n"):
            head, _, rest = part.partition("\n")
            if head == "\b" and rest.startswith("Example"):
                self.write_heading("Examples")
                lines = "\n".join(_escape(line.strip()) for line in rest.splitlines()[1:])
                self.write(f".nf\n{lines}\n.fi\n")
            else:
                self.write(f".PP\n{_escape(' '.join(part.split()))}\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        for term, text in rows:
            self.write(f".TP\n.B {_escape(term)}\n{_escape(text)}\n")


def _escape(text: str) -> str:
    """Return a text as man(7) prints it: no line is a request, and hyphens can be copied."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    escaped = "".join(c if c.isascii() else f"\\[u{ord(c):04X}]" for c in escaped)
    return "\\&" + escaped if escaped.startswith((".", "'")) else escaped


def completion(shell: str) -> str:
    """Return the file by which a shell completes verbs and options."""
    found = get_completion_class(shell)
    assert found is not None
    # Not the method of the class: for bash it asks the one that is installed for its version.
    return ShellComplete.source(found(haloscope, {}, "haloscope", "_HALOSCOPE_COMPLETE"))


def main(directory: Path, version: str) -> None:
    """Write all files below the directory."""
    files = {place: completion(shell) for shell, place in _COMPLETIONS.items()}
    for words, command in commands():
        name = "-".join(["haloscope", *words.split()])
        files[f"man/man1/{name}.1"] = manual_page(words, command, version)
    for place, text in files.items():
        file = directory / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
