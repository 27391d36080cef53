"""The formats of `export`, each declared once. Writers are loaded on use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

# One profile; many of them; or the trace of one.
About = Literal["profile", "profiles", "trace"]


@dataclass(frozen=True)
class Format:
    """A format and its writer.

    `writer` is a module of this package and a function in it. The function takes its subject `about` (a
    `Profile`, `Profiles` or a `TracedProfile`) and the output path, writes atomically, and returns lines
    about data that the format cannot hold.
    """

    name: str
    what: str
    suffix: str
    writer: str
    about: About = "profile"

    def load(self) -> Callable[[Any, Path], Sequence[str]]:
        """Return the writer."""
        module, _, function = self.writer.partition(":")
        found: Callable[[Any, Path], Sequence[str]] = getattr(
            import_module(f"haloscope.explain.export.{module}"), function
        )
        return found


EXPORTS: dict[str, Format] = {
    form.name: form
    for form in (
        Format("cali", "for caliper-reader, Hatchet and Thicket", ".cali", "caliper_files:write_caliper"),
        Format("cali-ranks", "the same, per rank", ".cali", "caliper_files:write_caliper_ranks"),
        Format("csv", "a directory with one file per table", "-csv", "csv_tables:write_csv"),
        Format("extrap", "several runs, for Extra-P", ".txt", "extrap:write_extrap", "profiles"),
        Format("parquet", "a data set of many runs", "-parquet", "parquet:write_parquet", "profiles"),
        Format("otf2", "for Vampir, Pipit and Scalasca", "-otf2", "otf2:write_otf2", "trace"),
        Format("perfetto", "for ui.perfetto.dev", ".perfetto", "perfetto:write_perfetto", "trace"),
        Format("goal", "for LogGOPSim", ".goal", "goal:write_goal", "trace"),
    )
}
