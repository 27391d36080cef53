"""What each verb does with a profile of another tool: its work, or one line that says why not."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from haloscope import HaloscopeError
from haloscope.cli import haloscope as command

_WORKS = (
    "show FILE --table ranks",
    "show FILE --table waits",
    "report FILE -o FOLDER/page.html",
    "export FILE --to cali -o FOLDER/again.cali",
    "export FILE --to csv -o FOLDER/tables",
    "export FILE --to extrap -o FOLDER/scaling.txt",
    "export FILE --to parquet -o FOLDER/set",
)
_REFUSED = {
    "export FILE --to otf2 -o FOLDER/archive": "has no trace",
    "export FILE --to perfetto -o FOLDER/slices": "has no trace",
    "export FILE --to goal -o FOLDER/schedule": "has no trace",
    "regimes FILE": "has no series",
    "simulate --platform torus FILE -n 4": "has no pattern to simulate",
    "tune FILE -o FOLDER/rules.conf": "no measurable collective of at least 2 ranks",
}


def check_verbs(file: Path, folder: Path) -> None:
    """Assert that for a profile which says nothing of partners, collectives and single events."""
    for text in (*_WORKS, *_REFUSED):
        words = text.replace("FILE", str(file)).replace("FOLDER", str(folder)).split()
        done = CliRunner().invoke(command, words)
        if text in _WORKS:
            assert done.exit_code == 0, (text, done.output)
            continue
        assert isinstance(done.exception, HaloscopeError), (text, done.output)
        assert _REFUSED[text] in str(done.exception), text
        assert file.name in str(done.exception), text
        assert "\n" not in str(done.exception), text
