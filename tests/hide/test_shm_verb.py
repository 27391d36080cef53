"""`haloscope shm` and the verbs around it: the environment of ranks, and the printed lines."""

from __future__ import annotations

from pathlib import Path

import polars
import pytest

import haloscope as library
from haloscope.base.environment import recorder_environment
from haloscope.base.headers import Headers
from haloscope.base.mpi import Mpi as DetectedMpi
from haloscope.base.objects import Abi, MpiLibrary
from haloscope.hide import SHM_SETTINGS
from support.mpi import CHECKOUT, Mpi
from support.mpis import tools
from support.processes import run_program
from support.programs import Compiler

ROOMS = ("watch", "shm", "inject")
WATCH, SHM, INJECT = (f"/cache/libhaloscope-{room}.so" for room in ROOMS)


class Built:
    """A library that is preloaded before an MPI."""

    def __init__(self, library: Path | str) -> None:
        self.library = Path(library)


@pytest.mark.parametrize(
    ("own", "earlier", "expected"),
    [
        (WATCH, f"{SHM}:{INJECT}:/a.so", [WATCH, SHM, INJECT, "/a.so"]),
        (INJECT, f"{SHM}:/a.so", [SHM, INJECT, "/a.so"]),
        (SHM, f"/a.so:{WATCH}", [WATCH, SHM, "/a.so"]),
        (SHM, "/old/libhaloscope-shm.so /a.so", [SHM, "/a.so"]),
    ],
)
def test_order_does_not_depend_on_the_verbs(own: str, earlier: str, expected: list[str]) -> None:
    headers = Headers("openmpi", (Path("/mpi"),), "Open MPI", (3, 1))
    mpi = DetectedMpi(MpiLibrary("openmpi", None), headers, "linked")
    given = recorder_environment(mpi, Built(own), {}, earlier, [Path("/heap.so")])["LD_PRELOAD"]
    behind = [word for word in expected if not word.startswith("/cache")]
    assert given.split(":") == [*expected[: len(expected) - len(behind)], "/heap.so", *behind]


# Prints a rank's environment, and writes a record like the shm library.
RANK = """
echo "$LD_PRELOAD $HALOSCOPE_SHM_THRESHOLD <$HALOSCOPE_SHM_CMA> $HALOSCOPE_INJECT_OUTPUT"
for rank in 1 0; do
  echo "$rank,$((1 - rank)),999000,GET,3,3,0,0.001" > "$HALOSCOPE_SHM_OUTPUT.part-$rank"
  echo "$rank,$((1 - rank)),1000,BELOW,3,1,0,0.0" >> "$HALOSCOPE_SHM_OUTPUT.part-$rank"
done
"""


@pytest.fixture
def abi(any_mpi: Mpi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Abi:
    """The interface of the first MPI that commands find; the working directory is `tmp_path`."""
    for name, value in tools(any_mpi).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return "openmpi" if any_mpi.abi == "openmpi" else "mpich"


@pytest.mark.parametrize(
    ("verbs", "rooms"),
    [
        ([], ["shm"]),
        (["run"], ["watch", "shm"]),
        (["inject --latency constant:1us -o injected.csv", "run"], list(ROOMS)),
    ],
)
def test_every_rank_gets_the_shm_library_in_its_place(
    abi: Abi,
    haloscope: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    verbs: list[str],
    rooms: list[str],
) -> None:
    inner = [
        word for verb in verbs for word in (str(haloscope), *verb.split(), "--mpi", abi, "--quiet", "--")
    ]
    record = tmp_path / "shm.csv"
    command = [*inner, "sh", "-c", RANK]
    outcome = library.shm(command, threshold=4096, output=record, mpi=abi, quiet=True)
    assert outcome.status == 0
    preloads, *others = capfd.readouterr().out.split()
    names = [Path(word).name for word in preloads.split(":")]
    assert names[: len(rooms)] == [f"libhaloscope-{room}.so" for room in rooms]
    assert others == ["4096", "<>", *([str(tmp_path / "injected.csv")] if "inject" in rooms else [])]
    assert record.read_text().splitlines() == [
        "rank,partner,bytes,protocol,messages,chunks,helpers,time",
        "0,1,999000,GET,3,3,0,0.001",
        "0,1,1000,BELOW,3,1,0,0.0",
        "1,0,999000,GET,3,3,0,0.001",
        "1,0,1000,BELOW,3,1,0,0.0",
    ]
    assert outcome.remarks == [
        "12 messages within nodes: GET 6 (99.9 % of bytes), BELOW 6 (0.1 % of bytes): " + str(record)
    ]
    assert not list(tmp_path.glob("shm.csv.*"))


RING = """
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  int rank, size, bytes = 1 << 20;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char *sent = malloc(bytes), *got = malloc(bytes);
  for (int i = 0; i < 12; i++) {
    MPI_Request requests[2];
    MPI_Irecv(got, bytes, MPI_BYTE, (rank + size - 1) % size, 0, MPI_COMM_WORLD, requests);
    MPI_Isend(sent, bytes, MPI_BYTE, (rank + 1) % size, 0, MPI_COMM_WORLD, requests + 1);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  free(sent);
  free(got);
  MPI_Finalize();
  return 0;
}
"""


def test_recorder_and_record_agree(any_mpi: Mpi, compiler: Compiler, haloscope: Path, tmp_path: Path) -> None:
    program = compiler.text(any_mpi, "ring.c", RING)
    command = [
        haloscope,
        "shm",
        "--share-heap",
        "-o",
        "shm.csv",
        "--",
        haloscope,
        "run",
        "-o",
        "run.halo",
        "--",
        *any_mpi.launch(2),
        program,
    ]
    done = run_program(
        [*map(str, command)],
        env=any_mpi.environment({"HALOSCOPE_SHM_PATIENCE": "1000", "HALOSCOPE_SHM_MEASURE": "off"}),
        cwd=tmp_path,
    )
    assert "haloscope: 24 messages within nodes: " in done.stderr
    said = (
        polars.read_csv(tmp_path / "shm.csv")
        .group_by("protocol")
        .agg(
            polars.col("messages", "chunks", "helpers").sum(),
            (polars.col("bytes") * polars.col("messages")).sum(),
        )
    )
    with library.open(tmp_path / "run.halo") as profile:
        calls = profile.table("calls")
        (sent,) = calls.filter(calls["call"] == "MPI_Isend").to_dicts()
    seen = calls.filter(calls["chunks"].is_not_null())
    columns = ["calls", "chunks", "helpers", "bytes"]
    names = [f"{protocol} (shm)" for protocol in said["protocol"]]
    assert sorted(seen.select("call", *columns).rows()) == sorted(
        (name, *row[1:]) for name, row in zip(names, said.rows(), strict=True)
    )
    assert (sent["calls"], sent["bytes"]) == (24, 24 << 20)  # without the tokens
    taken = seen.filter(seen["call"] != "ESCAPE (shm)")
    assert (taken["calls"].sum(), taken["bytes"].sum()) == (24, 24 << 20)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--threshold", "10"], "--threshold 10: at least 1024"),
        (["HALOSCOPE_SHM_PATIENCE=-1"], "HALOSCOPE_SHM_PATIENCE -1: at least 0"),
        (["HALOSCOPE_SHM_CMA=often"], "HALOSCOPE_SHM_CMA often: not one of auto, always, never"),
        (["--protocol", "fast"], "'fast' is not one of 'dynamic'"),
        (["-o", "/nowhere/x.csv"], "/nowhere/x.csv: cannot be written"),
        ([], "links no MPI: there are no messages to copy"),
    ],
)
def test_errors_are_one_line(haloscope: Path, any_mpi: Mpi, options: list[str], complaint: str) -> None:
    launch = any_mpi.launch(1) if options else []
    variables = dict(option.split("=") for option in options if option.startswith("HALOSCOPE_"))
    words = [option for option in options if not option.startswith("HALOSCOPE_")]
    command = [str(haloscope), "shm", *words, "--", *launch, "true"]
    env = any_mpi.environment(variables)
    done = run_program(command, env=env, status=None)
    assert done.returncode in (1, 2)
    (line,) = done.stderr.splitlines()
    assert complaint in line


def test_verbs_that_start_nothing_cannot_be_run(haloscope: Path) -> None:
    for words in (["show", "x.halo"], ["run", "true"], ["inject", "--"]):
        command = [str(haloscope), "shm", "--", str(haloscope), *words]
        assert "only run, inject, shm, place can be run" in run_program(command, status=2).stderr


def test_no_file_is_written_by_default(
    any_mpi: Mpi, compiler: Compiler, haloscope: Path, tmp_path: Path
) -> None:
    """The working directory stays empty, and the reason why the shm library handled no message is printed."""
    program = compiler.text(any_mpi, "ring.c", RING)
    words = any_mpi.launch(2)
    done = run_program([haloscope, "shm", "--", *words, program], env=any_mpi.environment(), cwd=tmp_path)
    assert (
        "haloscope: by MPI: 24 (24 MiB) from memory that is not shared (--share-heap, or "
        "MPIX_Register_buf)\n" in done.stderr
    )
    assert not list(tmp_path.iterdir())


def test_reasons_are_ordered_by_their_bytes(abi: Abi, tmp_path: Path) -> None:
    def remark(*rows: str) -> str:
        (tmp_path / "rows").write_text("".join(f"{row}\n" for row in rows))
        command = ["sh", "-c", 'cp rows "$HALOSCOPE_SHM_OUTPUT.part-0"']
        (found,) = library.shm(command, mpi=abi, quiet=True).remarks
        return found

    assert remark(
        "0,1,65536,GET,10,10,0,0.001",
        "1,0,65536,ESCAPE,2,2,0,0.0",
        "0,,1048576,MPI (late),16,,,",
        "0,,65536,MPI (node),1,,,",
        "1,,3145728,MPI (datatype),3,,,",
        "1,,40960,MPI (tried),1,,,",
        "0,,4194304,MPI (faster),64,,,",
        "1,,65536,MPI (node),1,,,",
        "1,,20480,MPI (memory),1,,,",
    ) == (
        "10 messages within nodes: GET 10 (100 % of bytes); 2 waited in the pool; by MPI: "
        "64 (4 MiB) where MPI was faster, "
        "3 (3 MiB) with datatypes that cannot be packed (absolute addresses, or over 2 GiB), "
        "16 (1 MiB) to receivers that were mostly late (HALOSCOPE_SHM_PATIENCE), "
        "2 (128 KiB) to other nodes, or to the same rank, 1 (40 KiB) to measure which is faster, "
        "1 (20 KiB) from memory that is not shared (--share-heap, or MPIX_Register_buf)"
    )
    assert remark() == "no message was large enough"


def test_one_threshold_for_messages_and_blocks() -> None:
    """The documented default of the option is that of both libraries."""
    header = (CHECKOUT / "src" / "hide" / "shm" / "heap" / "shared_arena.hpp").read_text()
    (threshold,) = (setting for setting in SHM_SETTINGS if setting.name == "threshold")
    assert f"default_threshold = {threshold.default};" in header
    assert f'threshold_variable = "{threshold.variable}";' in header
