"""What a command writes never replaces what it reads, nor a file of another kind."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from haloscope import OutputError
from haloscope.base.files import write_directory, write_whole
from haloscope.hide.records import join_parts, prepare_record
from haloscope.watch.outputs import Output
from support.command import run_command
from support.mpi import CHECKOUT

PROFILE = CHECKOUT / "tests" / "data" / "0.1.0.halo"
# Files of several kinds, as they begin.
KINDS = {
    "a page": b"<!DOCTYPE html>\n<html lang='en'>\n",
    "a profile": b"\x89HALO\r\n\x1a\1\0\0\0",
    "a trace": b'{"traceEvents": []}',
    "a model": b'{\n "emission": "normal"}',
    "a machine": b"# Made by: bench p2p\nname: here\nlevels: []\n",
    "rules": b"# Rules\n[regions.halo]\nsends = 4\n",
    "JUnit": b"<?xml version='1.0' encoding='utf-8'?>\n<testsuites>",
    "a table": b"path,rank,calls\nhalo,0,3\n",
    "another table": b"path,time\nhalo,0.5\n",
    "parquet": b"PAR1\x15\x04",
    "an archive": b"PK\x03\x04\x14\0",
    "a program": b"\x7fELF\x02\x01\x01\0",
    "a script": b"#!/bin/sh\nexit 1\n",
    "source": b"#include <mpi.h>\nint main(void) { return 0; }\n",
    "a thesis": b"My thesis\n=========\n",
    "a picture": b"\x89PNG\r\n\x1a\n",
    "another drawing": b"<?xml version='1.0'?>\n<svg xmlns='http://www.w3.org/2000/svg'>",
}


@pytest.mark.parametrize("there", KINDS)
@pytest.mark.parametrize(
    "new", [kind for kind, text in KINDS.items() if text.isascii() and b"\0" not in text]
)
def test_a_file_of_another_kind_is_not_replaced(there: str, new: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(KINDS[there])
    if there == new:
        write_whole(file, KINDS[new].decode() + "more", "result")
        assert file.read_bytes() == KINDS[new] + b"more"
        return
    with pytest.raises(OutputError, match="exists, and is no result"):
        write_whole(file, KINDS[new].decode(), "result")
    assert file.read_bytes() == KINDS[there]
    assert list(tmp_path.iterdir()) == [file]


def test_an_empty_file_is_filled(tmp_path: Path) -> None:
    (tmp_path / "from-mktemp").touch()
    write_whole(tmp_path / "from-mktemp", "text", "result")
    assert (tmp_path / "from-mktemp").read_text() == "text"


@pytest.mark.parametrize(
    "words",
    [
        "report IN -o OUT",
        "compare IN SECOND -o OUT",
        "export IN --to perfetto -o OUT",
        "export IN --to csv -o OUT",
        "check IN SECOND -o OUT",
        "check IN SECOND -o other.md -o OUT",
        "regimes IN -o OUT",
        "regimes IN --model OUT",
        "place IN -o OUT",
        "simulate IN --platform fat-tree -o OUT",
        "tune IN -o OUT",
        "bench fit IN SECOND -o OUT",
        "bench model IN -o OUT",
    ],
)
@pytest.mark.parametrize("link", ["", "symbolic", "hard"])
def test_what_is_read_is_not_written(
    words: str, link: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, second, output = tmp_path / "in.halo", tmp_path / "second.halo", tmp_path / "in.halo"
    for path in (source, second):
        shutil.copy(PROFILE, path)
    if link:
        output = tmp_path / "out.halo"
        (output.symlink_to if link == "symbolic" else output.hardlink_to)(source)
    names = {"IN": source, "SECOND": second, "OUT": output}
    assert run_command(*(names.get(word, word) for word in words.split())) == 2
    assert f"{output}: is read by this command; name another file to write" in capsys.readouterr().err
    assert source.read_bytes() == second.read_bytes() == PROFILE.read_bytes()


@pytest.mark.parametrize(
    "words", ["report IN -o OUT", "export IN --to perfetto -o OUT", "export IN --to cali -o OUT"]
)
def test_a_command_keeps_a_file_of_another_kind(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "thesis.tex"
    output.write_text("\\documentclass{book}\n")
    names = {"IN": PROFILE, "OUT": output}
    assert run_command(*(names.get(word, word) for word in words.split())) == 1
    line = capsys.readouterr().err
    assert "exists, and is no " in line
    assert line.count("\n") == 1
    assert output.read_text() == "\\documentclass{book}\n"


def test_a_link_stays_and_its_file_is_written(tmp_path: Path) -> None:
    """As by a shell; /dev/stdout is such a link, and root could replace it."""
    (tmp_path / "old").write_text("text")
    for name in ("old", "new"):
        link = tmp_path / f"to-{name}"
        link.symlink_to(name)
        write_whole(link, "text, new", "result")
        assert os.readlink(link) == name
        assert (tmp_path / name).read_text() == "text, new"
    (tmp_path / "tables").mkdir()
    (tmp_path / "to-tables").symlink_to("tables")
    with write_directory(tmp_path / "to-tables", "sign", "directory") as directory:
        (directory / "sign").touch()
    assert os.readlink(tmp_path / "to-tables") == "tables"
    assert [path.name for path in (tmp_path / "tables").iterdir()] == ["sign"]
    (tmp_path / "to-profile").symlink_to("100%n.halo")
    assert Output.prepare(tmp_path / "to-profile").pattern == tmp_path.resolve() / "100%%n.halo"
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("length", [240, 255])
def test_a_name_may_be_as_long_as_the_file_system_allows(length: int, tmp_path: Path) -> None:
    file, folder = tmp_path / ("é" + "x" * (length - 2)), tmp_path / ("y" * length)
    write_whole(file, "text", "result")
    with write_directory(folder, "sign", "directory"):
        pass
    assert {path.name for path in tmp_path.iterdir()} == {file.name, folder.name}
    with pytest.raises(OutputError, match="File name too long"):
        write_whole(tmp_path / ("x" * 256), "text", "result")


def test_a_record_stays_until_ranks_wrote_another_one(tmp_path: Path) -> None:
    record, header, old = tmp_path / "data", "rank,time", "rank,time\n0,1\n"
    record.write_text(old)
    assert prepare_record(record, header, "record") == record
    assert not join_parts(record, header)
    assert record.read_text() == old
    for rank in (1, 0):
        (tmp_path / f"data.part-{rank}").write_text(f"{rank},2\n")
    assert join_parts(record, header)
    assert record.read_text() == "rank,time\n0,2\n1,2\n"
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_record_takes_no_files_of_others(tmp_path: Path) -> None:
    """The parts of ranks have their own names, and a FIFO is refused."""
    record = tmp_path / "data"
    rotated = [tmp_path / f"data.{number}" for number in (1, 2)]
    for path in (*rotated, tmp_path / "data.part-0", tmp_path / "data.part-0-of-2"):
        path.write_text("precious")
    prepare_record(record, "rank,time", "record")
    assert {path.name for path in tmp_path.iterdir()} == {"data.1", "data.2", "data.part-0-of-2"}
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OutputError, match="is not a file"):
        prepare_record(tmp_path / "fifo", "rank,time", "record")
