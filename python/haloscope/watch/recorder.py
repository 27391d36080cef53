"""The recorder: ready-made, or built once per MPI and found in the cache."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from haloscope.base import paths, schema, settings
from haloscope.base.building import build_preload, is_ready
from haloscope.base.cache import cache, is_whole
from haloscope.base.headers import Headers
from haloscope.watch import recorder_settings

_LIBRARY = "libhaloscope-watch.so"
_ALWAYS = f"always/{_LIBRARY}"
# The last three are linked by programs with markers of other tools, and do nothing by themselves.
_MADE = (_LIBRARY, _ALWAYS, "haloscope-join", "libcaliper.so", "libcaliper.so.2", "libadiak.so")


@dataclass(frozen=True)
class Recorder:
    """The files of one build."""

    directory: Path

    @property
    def library(self) -> Path:
        return self.directory / _LIBRARY

    @property
    def always(self) -> Path:
        """The library without the interfaces of other tools: a program's own tools keep working."""
        return self.directory / _ALWAYS

    @property
    def join(self) -> Path:
        return self.directory / "haloscope-join"


def build_recorder(headers: Headers, quiet: bool = False) -> Recorder:
    """Return the recorder for these headers, ready-made, from the cache or built now."""
    return Recorder(build_preload("recorder", headers, _MADE, recorder_sources(), quiet))


def find_built_recorders() -> Iterator[Recorder]:
    """Yield all recorders in the cache, the newest first. Each is checked when it is reached."""
    if not os.path.isdir(cache()):  # unlike Path.is_dir, also False if it cannot be looked at
        return
    found = [Recorder(directory) for directory in cache().glob("recorder-*-*")]
    for recorder in sorted(found, key=_age):
        if is_whole(recorder.directory):
            yield recorder


def _age(recorder: Recorder) -> int:
    try:
        return -recorder.join.stat().st_mtime_ns
    except OSError:
        return 0


class Builds:
    """Recorders to try one after the other, those in the cache or others. The last useful one comes first."""

    def __init__(self, recorders: Iterable[Recorder] | None = None) -> None:
        self._known: list[Recorder] = []
        self._others = iter(find_built_recorders() if recorders is None else recorders)

    def __iter__(self) -> Iterator[Recorder]:
        yield from list(self._known)
        for recorder in self._others:
            self._known.append(recorder)
            yield recorder

    def prefer(self, recorder: Recorder) -> None:
        """Try this recorder first from now on."""
        self._known.remove(recorder)
        self._known.insert(0, recorder)


def is_built(headers: Headers) -> bool:
    """Return whether the recorder for these headers is built."""
    return is_ready("recorder", headers, recorder_sources())


def recorder_sources() -> list[Path]:
    """Return the files that a recorder is built from, including those that `src/watch/declared.py` reads."""
    folders = [paths.source("src", "watch"), paths.source("src", "interpose"), paths.include()]
    return [*folders, *(Path(str(module.__file__)) for module in (schema, settings, recorder_settings))]
