"""Files and directories are written whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from haloscope import OutputError
from haloscope.base.files import (
    copy_whole,
    read_end,
    read_last_line,
    replace_whole,
    write_directory,
    write_file,
    write_whole,
)


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_an_interrupted_file_stays_as_it_was(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    write_whole(page, "old", "page")
    with suppress(KeyboardInterrupt), write_file(page, "page") as file:
        file.write(b"new")
        assert len(names(tmp_path)) == 2
        raise KeyboardInterrupt
    assert (page.read_text(), names(tmp_path)) == ("old", ["page.html"])
    other = tmp_path / "other.html"
    other.write_text("old, and more")
    copy_whole(other, page, "page")
    assert (page.read_text(), names(tmp_path)) == ("old, and more", ["other.html", "page.html"])


def test_what_is_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputError, match="is not a file; name a file to write the page to"):
        write_whole(tmp_path / "folder", "text", "page")
    with pytest.raises(OutputError, match="cannot be written: No such file"):
        write_whole(tmp_path / "none" / "page.html", "text", "page")
    aside = tmp_path / f".page.html.{os.getpid()}.part"
    aside.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match=r"\.part: is in the way of .*page\.html; remove it"):
        write_whole(tmp_path / "page.html", "text", "page")
    assert names(tmp_path) == [aside.name, "folder"]


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a.halo"
    path.write_bytes(b"\x89HAL head")
    path.chmod(0o640)
    with path.open("rb") as source:
        replace_whole(path, source, 4, [b", ", b"more"], "profile")
    assert path.read_bytes() == b"\x89HAL, more"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_file_that_changes_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.halo"
    path.write_bytes(b"short")
    with path.open("rb") as source, pytest.raises(OutputError, match="became shorter while it was read"):
        replace_whole(path, source, 6, [], "profile")
    with path.open("rb") as source:
        path.unlink()
        path.write_bytes(b"other")
        with pytest.raises(OutputError, match="was replaced while it was read"):
            replace_whole(path, source, 5, [], "profile")
    assert (path.read_bytes(), names(tmp_path)) == (b"other", ["a.halo"])


def test_an_interrupted_directory_stays_as_it_was(tmp_path: Path) -> None:
    output = tmp_path / "campaign"
    with write_directory(output, "sign", "data set") as fresh:
        (fresh / "sign").write_text("old")
    with suppress(KeyboardInterrupt), write_directory(output, "sign", "data set") as fresh:
        (fresh / "sign").write_text("new")
        raise KeyboardInterrupt
    assert ((output / "sign").read_text(), names(tmp_path)) == ("old", ["campaign"])
    with write_directory(output, "sign", "data set") as fresh:
        (fresh / "sign").write_text("new")
    assert ((output / "sign").read_text(), names(tmp_path)) == ("new", ["campaign"])


def test_a_directory_of_another_kind_is_refused(tmp_path: Path) -> None:
    output = tmp_path / "home"
    output.mkdir()
    with write_directory(output, "sign", "data set"):  # an empty one is replaced
        pass
    (output / "letter").touch()
    with (
        pytest.raises(OutputError, match="exists, and is no data set; name another directory"),
        write_directory(output, "sign", "data set"),
    ):
        pass
    with pytest.raises(OutputError, match="has no name of its own"), write_directory(Path("/"), "sign", "x"):
        pass
    assert names(output) == ["letter"]


def test_the_end_of_a_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("first\nlast: error 3  \n---\n\n")
    assert read_last_line(log) == "last: error 3"
    assert read_end(log, 5) == "---\n\n"
    assert read_end(log, 1000) == log.read_text()
    log.write_text("x" * 400)
    assert read_last_line(log) == "x" * 300
    assert (read_last_line(tmp_path / "none"), read_end(tmp_path / "none", 9)) == ("", "")
