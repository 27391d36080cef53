"""Outputs that documentation shows, compared with what a command prints.

Amounts of time, shares, versions and widths of columns differ from run to run, so they are masked. In what is
shown, `...` stands for anything within a line, and a line of it for any lines.
"""

from __future__ import annotations

import platform
import re
from pathlib import Path

# A time or a share: a number with its unit. An interval: two numbers in brackets.
AMOUNT = re.compile(r"[-+−]?\d+(?:\.\d+)?(?:e[-+]?\d+)? ?(?:ns|µs|ms|s|min|h|%)(?!\w)|\[[-+−\d., ]+\]")
# Parts of an output, after its amounts, that depend on the run or on the machine.
VARYING = [
    (re.compile(pattern, re.MULTILINE), to)
    for pattern, to in (
        (r"(?:Open MPI|MPICH) [\d.]+", "MPI ~"),
        (r"~ \((?:good|fair|poor)\)", "~"),
        (r"^by (function|region): .*$", r"by \1: ~"),  # the largest shares first
        # Regions whose share is above a limit, the largest first.
        (r"\bin region \S+ and \d+ more regions?\b", "in regions ~"),
        (r"\bregion \S+(?= evenly;| --exclusive)", "region ~"),
        (r"\(run [0-9a-f]{16}, ", "(run ~, "),
        (r"^stack of ranks? [\d-]+:$", "stack of ~:"),
        (r"^haloscope: building .*\n", ""),
        # A machine that others use, too.
        (r", other calls ~(?=[,)])", ""),
        (r"^finding: .* had no core for .*\n", ""),
        (r"^\d+ more: haloscope findings .*\n", ""),
        (r"^\d+\. no_core: .*\n(?:(?:gain|do|look): .*\n?)+", ""),
        (r"^\d+\. (?=\w+: )", "1. "),
        (r"\(\w+\+0x[0-9a-f]+\)", "(~)"),  # an address in a file
        (r"^(\d+)(?:\s+\d[\d.]*)+$", r"\1 ~"),  # a row of a benchmark
    )
]


def unprinted(kind: str, shown: str, printed: str, folder: Path) -> str:
    """Return the lines of a block that this output has not. An `output` block must be all of it."""
    lines = masked(printed, folder)
    if kind == "output":
        return "" if masked(shown, folder) == lines else shown
    shown = commands_output(shown) if kind == "console" else shown
    patterns = [".*".join(map(re.escape, re.split(r"\.\.\.|…", line))) for line in masked(shown, folder)]
    return "\n".join(one for one in patterns if not any(re.fullmatch(one, line) for line in lines))


def commands_output(console: str) -> str:
    """Return the lines of a console that a command printed, but for those of files."""
    lines, prints = [], False
    for line in console.splitlines(keepends=True):
        if line.startswith(("$ ", "> ")):
            prints = not line.startswith("$ cat ")
        elif prints:
            lines.append(line)
    return "".join(lines)


def masked(text: str, folder: Path) -> list[str]:
    """Return the lines without times, widths of columns, and names of this machine."""
    here = AMOUNT.sub("~", text.replace(f"{folder}/", "").replace(platform.node(), "vm").replace("─", " "))
    here = "\n".join(" ".join(line.split()) for line in here.splitlines())
    for pattern, to in VARYING:
        here = pattern.sub(to, here)
    return [line for line in here.splitlines() if line]
