"""The recorder: built once for each MPI, and found in the cache."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from haloscope.base import paths, schema, settings
from haloscope.base.building import build_preload, preload_name
from haloscope.base.cache import cache, is_whole
from haloscope.base.headers import Headers
from haloscope.watch import _settings

__all__ = ["Recorder", "build_recorder", "built_recorders", "is_built", "recorder_sources"]

# The last three are for programs with other people's markers, to be linked: they do nothing by themselves.
_MADE = ("libhaloscope-watch.so", "haloscope-join", "libcaliper.so", "libcaliper.so.2", "libadiak.so")


@dataclass(frozen=True)
class Recorder:
    """The files of one build."""

    directory: Path

    @property
    def library(self) -> Path:
        return self.directory / "libhaloscope-watch.so"

    @property
    def join(self) -> Path:
        return self.directory / "haloscope-join"


def build_recorder(headers: Headers, quiet: bool = False) -> Recorder:
    """Return the recorder for these headers, from the cache or built now."""
    return Recorder(build_preload("recorder", headers, _MADE, recorder_sources(), quiet))


def built_recorders() -> list[Recorder]:
    """Return all recorders in the cache, the newest first."""
    found = [Recorder(directory) for directory in cache().glob("recorder-*-*")]
    made = [recorder for recorder in found if is_whole(recorder.directory)]
    return sorted(made, key=lambda made: made.join.stat().st_mtime_ns, reverse=True)


def is_built(headers: Headers) -> bool:
    """Return whether the cache has the recorder for these headers already."""
    return is_whole(cache() / preload_name("recorder", headers, recorder_sources()))


def recorder_sources() -> list[Path]:
    """Return what a recorder is made of: its folder, others, and what `src/watch/declared.py` reads."""
    rooms = [paths.source("src", "watch"), paths.source("src", "interpose"), paths.include()]
    return [*rooms, *(Path(str(module.__file__)) for module in (schema, settings, _settings))]
