"""Names and metadata with separators, quotes, line ends, and bytes that are no UTF-8, in every export."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import caliperreader
import polars as pl
import pytest

import haloscope
from haloscope.explain import Profile
from support.mpi import Mpi
from support.otf2_tools import need_otf2, read_archive
from support.perfetto import read_perfetto
from support.programs import Compiler
from support.watched import watch

PROGRAM = Path(__file__).parent / "programs" / "odd_texts.c"
# A byte that is no character is shown as U+FFFD.
NAMES = ["a,b", "quo\"te's", "new\nline", "tab\tand;", "gr\ufffd\ufffde", "\ufffd"]
METADATA = {'a,b="c"': '1,5 "mm"\nand more', "gr\ufffd\ufffde": "\ufffd\ufffd"}
RANKS = 2


@pytest.fixture(scope="module")
def profile(any_mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Profile]:
    folder = tmp_path_factory.mktemp("odd")
    watched = watch(any_mpi, RANKS, [compiler(any_mpi, PROGRAM)], folder, options=["--trace"])
    with haloscope.open(watched.path) as opened:
        yield opened


def said(info: pl.DataFrame) -> dict[str, str]:
    """Return the program's metadata in the table `info`, where values are JSON."""
    rows = info.filter(pl.col("key").is_in(list(METADATA))).select("key", "value").iter_rows()
    return {key: json.loads(value) for key, value in rows}


def test_tables_and_csv_have_them(profile: Profile, tmp_path: Path) -> None:
    regions = profile.table("regions").filter(pl.col("region") != "<program>")
    assert sorted(regions["region"]) == sorted(NAMES)
    assert {key: profile.info["metadata"][key] for key in METADATA} == METADATA
    place = haloscope.export(profile.path, "csv", tmp_path / "csv")
    read = pl.read_csv(place / "regions.csv", infer_schema=False)
    assert read.filter(pl.col("region") != "<program>")["region"].to_list() == regions["region"].to_list()
    assert said(pl.read_csv(place / "info.csv", infer_schema=False)) == METADATA


def test_cali_has_them(profile: Profile, tmp_path: Path) -> None:
    place = haloscope.export(profile.path, "cali", tmp_path / "f.cali")
    reader = caliperreader.CaliperReader()
    reader.read(str(place))
    assert {record["path"][-1] for record in reader.records} >= set(NAMES)
    assert {key: reader.globals[key] for key in METADATA} == METADATA


def test_parquet_has_them(profile: Profile, tmp_path: Path) -> None:
    place = haloscope.export(profile.path, "parquet", tmp_path / "set")
    read = pl.read_parquet(place / "regions" / "**" / "*.parquet")
    assert set(NAMES) <= set(read["region"])
    assert said(pl.read_parquet(place / "info" / "**" / "*.parquet")) == METADATA


def test_perfetto_has_them(profile: Profile, tmp_path: Path) -> None:
    tracks = read_perfetto(haloscope.export(profile.path, "perfetto", tmp_path / "f.perfetto"))
    assert len(tracks) == RANKS
    for track in tracks:
        assert [one.name for one in track.slices if one.category == "region"] == NAMES


def test_otf2_has_them(profile: Profile, tmp_path: Path) -> None:
    need_otf2()
    found = read_archive(haloscope.export(profile.path, "otf2", tmp_path / "f-otf2"))
    assert {name for name, _, paradigm in found["regions"] if paradigm != "Paradigm.MPI"} >= set(NAMES)
    assert 'r,"i"\nn\ufffd' in {name for name, _ in found["communicators"]}
