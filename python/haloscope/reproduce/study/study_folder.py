"""Studies as folders with `study.toml`, which lists a paper and the scripts that reproduce its parts."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field, model_validator

from haloscope.base import paths
from haloscope.base.errors import UsageError
from haloscope.reproduce.study.published import Published, read_published, read_toml

_FILE = "study.toml"
_Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=200)]
# A file in the directory of results, not a path outside of it.
_Result = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=200)]


class Part(BaseModel, extra="forbid", frozen=True):
    """Tables and figures of the paper that one script reproduces.

    The script is in the study's folder and runs in the directory of results, where it writes `tables` (CSV),
    `figures` (by `write_figures`) and `pictures` (PNG), and what it found by `write_reproduced`. Its exit
    status is 4 if this machine cannot run it. `text` describes the method. `units` has the unit of columns:
    `s` for seconds, and `share`. A part with `originals` runs the paper's own programs of these names, if
    the user has them.
    """

    name: _Name
    title: str
    script: _Result
    arguments: tuple[str, ...] = ()
    tables: tuple[_Result, ...] = ()
    figures: tuple[_Result, ...] = ()
    pictures: tuple[_Result, ...] = ()
    text: tuple[str, ...] = ()
    units: dict[str, Literal["s", "share"]] = {}
    minutes: Annotated[float, Field(gt=0)]
    large: bool = False
    originals: tuple[str, ...] = ()

    @property
    def results(self) -> tuple[str, ...]:
        """The files that the script writes."""
        return self.tables + self.figures + self.pictures


class Study(BaseModel, extra="forbid", frozen=True):
    """A study, and its folder."""

    title: str
    paper: str
    parts: Annotated[tuple[Part, ...], Field(alias="part", min_length=1)]
    folder: Path
    published: Published = Published()

    @model_validator(mode="after")
    def _check_parts(self) -> Study:
        parts = {part.name for part in self.parts}
        for part in self.published.parts() - parts:
            raise ValueError(f"published.toml: there is no part {part!r}")
        return self

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name

    def chosen(self, large: bool, originals: Collection[str] = ()) -> tuple[Part, ...]:
        """Return the parts to run.

        Parts that take long run only if `large`, and those of original programs only with one of these.
        """
        return tuple(
            part
            for part in self.parts
            if (large or not part.large) and (not part.originals or set(part.originals) & set(originals))
        )

    def programs(self) -> tuple[str, ...]:
        """Return the names of the paper's own programs that parts can run."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.originals))


def read_study(folder: Path) -> Study:
    """Return the study in a folder.

    Raises:
        UsageError: The folder has no study, or an invalid one.
    """
    file = folder / _FILE
    published = read_published(folder)
    try:
        return read_toml(file, Study, folder=folder.resolve(), published=published)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}; a study is a folder with that file") from None


def studies() -> dict[str, Study]:
    """Return the studies of Haloscope by name.

    Raises:
        UsageError: The studies are not installed.
    """
    folder = paths.root() / "studies"
    found = [read_study(file.parent) for file in sorted(folder.glob(f"*/{_FILE}"))]
    if not found:
        raise UsageError(f"{folder}: no studies; install Haloscope again (in a checkout: git status)")
    return {study.name: study for study in found}
