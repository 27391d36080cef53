"""A remedy: a change of the launch of a program, without a change of the program."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from haloscope.base.launch import LAUNCHER

# Placeholder in `Remedy.around` for the profile of the unchanged run.
PROFILE = "F.halo"
_PREFIXES = ("OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_", "")
# Options of launchers that set a variable, or a parameter of Open MPI, to the second word behind them.
SETTING_OPTIONS = ("mca", "omca", "gmca", "prtemca", "pmixmca", "genv", "env")


@dataclass(frozen=True)
class Remedy:
    """A change of a launch command.

    `variables` are set, or unset (None). Each of the sequences of words in `without` is removed, and
    `options` follow the launcher. The verb `around` is put in front. `rules` are names of findings that it
    may remove. A file that a variable names is `file`, which is copied to the current directory if the
    remedy is kept.
    """

    name: str
    why: str
    variables: Mapping[str, str | None] = field(default_factory=dict)
    without: tuple[tuple[str, ...], ...] = ()
    options: tuple[str, ...] = ()
    around: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    file: Path | None = None

    @property
    def changes(self) -> bool:
        """Whether it changes anything."""
        return bool(self.variables or self.without or self.options or self.around)

    def apply(self, command: Sequence[str]) -> list[str]:
        """Return the launch command without the removed words. The caller puts verbs in front."""
        words = list(command)
        for removed in self.without:
            size = len(removed)
            at = next((i for i in range(len(words)) if tuple(words[i : i + size]) == removed), None)
            if at is not None:
                del words[at : at + size]
        at = next((i + 1 for i, word in enumerate(words) if LAUNCHER.fullmatch(Path(word).name)), 0)
        return [*words[:at], *self.options, *words[at:]]

    def replacing(self, options: Sequence[str], environment: Mapping[str, str]) -> Remedy:
        """Return the remedy for a launch: without equal variables, and without options that overrule them."""
        given = [tuple(options[at : at + 3]) for at in range(len(options) - 2)]
        given = [words for words in given if words[0].lstrip("-") in SETTING_OPTIONS]
        wanted: dict[str, str | None] = {}
        overruling: list[tuple[str, ...]] = []
        for name, value in self.variables.items():
            own = [words for words in given if any(f"{prefix}{words[1]}" == name for prefix in _PREFIXES)]
            if (own[-1][2] if own else environment.get(name)) != value:
                wanted[name] = value
                overruling += own
        return replace(self, variables=wanted, without=(*self.without, *overruling))

    def script(self) -> list[str]:
        """Return lines for a job script, without the launch command itself."""
        lines = [
            f"unset {name}" if value is None else f"export {name}={shlex.quote(value)}"
            for name, value in self.variables.items()
        ]
        lines += [f"# without {' '.join(removed)}" for removed in self.without]
        lines += [f"# behind the launcher: {shlex.join(self.options)}"] if self.options else []
        if not self.around:
            return lines
        note = f" ({PROFILE}: write it with haloscope run -o {PROFILE})" if PROFILE in self.around else ""
        return [*lines, f"# before the launch command: haloscope {' '.join(self.around)}{note}"]
