"""A stub in place of the recorder, for tests of everything around it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from haloscope.base.headers import Headers
from haloscope.watch._recorder import Recorder
from support.mounting import mount

__all__ = ["mount"]  # pytest finds it by name

STUB = Path(__file__).with_name("stub")


@pytest.fixture
def stub_recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Headers], Recorder]:
    """Makes `watch` build the stub; also a function that builds it."""

    def build(headers: Headers, quiet: bool = True) -> Recorder:
        recorder = Recorder(tmp_path / f"stub-{headers.abi}")
        if not recorder.library.exists():
            recorder.directory.mkdir()
            include = [f"-I{directory}" for directory in headers.directories]
            if headers.abi == "standard":
                include.append("-DMPI_ABI")
            command = ["cc", "-shared", "-fPIC", "-O1", *include, str(STUB / "recorder.c")]
            subprocess.run([*command, "-o", str(recorder.library)], check=True)
            shutil.copy(STUB / "join.sh", recorder.join)
        return recorder

    monkeypatch.setattr("haloscope.watch._run.build_recorder", build)
    return build
