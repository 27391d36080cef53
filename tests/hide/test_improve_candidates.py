"""Which remedies `haloscope improve` tries, by the profile, the launch and the machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from haloscope import open as open_profile
from haloscope.base.launch import parse
from haloscope.base.objects import Abi
from haloscope.explain.findings import Finding
from haloscope.hide.improve import Remedy, Runner, list_remedies
from haloscope.predict.tune import Candidate, Point, Tuning
from haloscope.predict.tune.tuning_rules import TuningRule
from support.emulated_tuning import emulated_bench
from support.mpi import Mpi
from support.placed import messages_between
from support.profiles import draft, path_rows, process_rows

MPIEXEC = "mpiexec -n 2 true"


def _profile(folder: Path, hosts: str, sizes: Mapping[int, int], kind: str = "p2p") -> Path:
    """A profile of ranks that spend half of their time in messages of these sizes, or in collectives."""
    rows = [{"path": 0, "kind": "p2p", "bytes": s, "bytes_upper": s, "messages": n} for s, n in sizes.items()]
    ranks: list[dict[str, Any]] = [
        {"path": 0, "rank": rank, "time": 10.0, f"{kind}_time": 5.0} for rank in range(len(hosts))
    ]
    calls = [{"path": 0, "call": "MPI_Isend", "calls": 100}]
    tables = {"paths": path_rows(), "processes": process_rows(*hosts), "ranks": ranks, "calls": calls}
    return draft({"ranks": len(hosts)}, **tables, sizes=rows).write(folder / "some.halo")


def _list(
    path: Path,
    command: str = MPIEXEC,
    environment: Mapping[str, str] | None = None,
    abi: Abi = "openmpi",
    found: Sequence[Finding] = (),
) -> dict[str, Remedy]:
    with open_profile(path) as profile:
        remedies = list_remedies(profile, parse(command.split()), abi, environment or {}, found=found)
    assert all(one.why and one.changes for one in remedies)
    return {one.name: one for one in remedies}


@pytest.fixture
def cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node with 8 cores."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))


@pytest.mark.usefixtures("cores")
def test_runs_without_settings_of_the_launch_are_tried(tmp_path: Path, any_mpi: Mpi) -> None:
    """Each setting is removed alone. Settings that select hosts or networks stay."""
    command = f"{any_mpi.mpiexec} --mca btl_sm_eager_limit 512 --mca btl self,sm -n 2 true"
    environment = {
        "OMPI_MCA_mpi_yield_when_idle": "0",
        "OMPI_MCA_btl_tcp_if_include": "eth0",
        "UCX_NET_DEVICES": "x",
    }
    found = _list(_profile(tmp_path, "aa", {}), command, environment)
    assert set(found) == {"without OMPI_MCA_mpi_yield_when_idle=0", "without --mca btl_sm_eager_limit 512"}
    words = command.split()
    assert found["without --mca btl_sm_eager_limit 512"].apply(words) == [words[0], *words[4:]]
    assert found["without OMPI_MCA_mpi_yield_when_idle=0"].script() == ["unset OMPI_MCA_mpi_yield_when_idle"]


@pytest.mark.usefixtures("cores")
def test_a_setting_with_a_name_per_version_is_one_remedy(tmp_path: Path) -> None:
    names = ["OMPI_MCA_hwloc_base_binding_policy", "PRTE_MCA_hwloc_default_binding_policy"]
    (found,) = _list(_profile(tmp_path, "aa", {}), environment=dict.fromkeys(names, "none")).values()
    assert found.script() == [f"unset {name}" for name in names]


@pytest.mark.usefixtures("cores")
@pytest.mark.parametrize(
    ("hosts", "size", "is_tried"),
    [("ab", 2 << 20, True), ("aa", 2 << 20, False), ("ab", 1 << 19, False)],
    ids=["tried", "one-node", "short"],
)
def test_long_messages_between_nodes_are_tried_in_fragments(
    tmp_path: Path, hosts: str, size: int, is_tried: bool
) -> None:
    path, name = _profile(tmp_path, hosts, {size: 100}), "long messages over TCP in fragments"
    found = _list(path)
    assert (name in found) == is_tried
    assert name not in _list(path, abi="mpich")
    if is_tried:
        assert found[name].script() == ["export OMPI_MCA_btl_tcp_rdma_pipeline_frag_size=131072"]


@pytest.mark.usefixtures("cores")
@pytest.mark.parametrize(
    ("abi", "name"), [("openmpi", "a progress thread for TCP"), ("mpich", "asynchronous progress")]
)
def test_messages_and_idle_cores_are_reasons(tmp_path: Path, abi: Abi, name: str) -> None:
    found = _list(_profile(tmp_path, "ab", {4096: 100, 100_000: 100}), abi=abi)
    assert {name, "eager limit of 8192 bytes", "eager limit of 131072 bytes"} <= set(found)
    assert name not in _list(_profile(tmp_path, "a" * 8, {4096: 100}), abi=abi)


@pytest.mark.usefixtures("cores")
def test_a_crowded_node_is_relieved(tmp_path: Path, any_mpi: Mpi) -> None:
    """A setting that is in effect already is no remedy."""
    path = _profile(tmp_path, "a" * 16, {})
    assert list(_list(path)) == ["idle ranks yield", "ranks are bound to no core"]
    assert list(_list(path, abi="mpich")) == ["idle ranks poll less"]
    assert "idle ranks yield" not in _list(path, environment={"OMPI_MCA_mpi_yield_when_idle": "1"})
    assert "idle ranks yield" not in _list(path, f"{any_mpi.mpiexec} --mca mpi_yield_when_idle 1 -n 2 true")


@pytest.mark.usefixtures("cores")
def test_a_variable_replaces_the_option_that_would_overrule_it(tmp_path: Path, any_mpi: Mpi) -> None:
    command = f"{any_mpi.mpiexec} --mca mpi_yield_when_idle 0 -n 2 true"
    found = _list(_profile(tmp_path, "a" * 16, {}), command)["idle ranks yield"]
    assert found.apply(command.split()) == [str(any_mpi.mpiexec), "-n", "2", "true"]
    assert found.script() == [
        "export OMPI_MCA_mpi_yield_when_idle=1",
        "# without --mca mpi_yield_when_idle 0",
    ]


@pytest.mark.usefixtures("cores")
def test_what_findings_names_is_tried_first(tmp_path: Path) -> None:
    path = _profile(tmp_path, "ab", {4096: 100, 2 << 20: 100})
    finding = Finding("late_sender", "ranks wait", "send earlier", None, (), 1.0, 0.5, 1.5, 0.1, ())
    assert "findings" not in next(iter(_list(path).values())).why
    first = next(iter(_list(path, found=[finding]).values()))
    assert first.why.endswith("findings: late_sender")


@pytest.mark.usefixtures("cores")
@pytest.mark.parametrize(("taken", "is_tried"), [(1 << 30, True), (300 << 20, False)])
def test_memory_that_is_taken_again_and_again_is_kept(tmp_path: Path, taken: int, is_tried: bool) -> None:
    """The reason is that processes took more memory than they used at any time: 100 MB per rank here."""
    written = draft({"ranks": 2}, paths=path_rows(), processes=process_rows("a", "a"))
    written.tables["processes"] = {**written.tables["processes"], "memory_max": [100 << 20] * 2}
    written.version = (1, 5)
    path = written.write(tmp_path / "memory.halo")
    with open_profile(path) as profile:
        found = list_remedies(profile, parse(MPIEXEC.split()), "openmpi", {}, taken=taken)
    scripts = [one.script() for one in found if one.name == "freed memory is kept"]
    kept = ["export MALLOC_MMAP_MAX_=0", "export MALLOC_TRIM_THRESHOLD_=1099511627776"]
    assert scripts == ([kept] if is_tried else [])


@pytest.mark.usefixtures("cores")
def test_collectives_are_tuned_with_the_launcher_of_the_program(
    tmp_path: Path, any_mpi: Mpi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its number of ranks. The rules only have to take effect, as the program's runs prove them."""
    asked: dict[str, Any] = {}
    chosen = {Point("bcast", 2, 8): Candidate("chain", 2)}

    def tuned(source: Path, **words: Any) -> Tuning:
        asked.update(words)
        rules = [TuningRule("bcast", 2, 8, "chain", 2)]
        return Tuning(emulated_bench(tmp_path), words["output"], rules, chosen)

    monkeypatch.setattr("haloscope.predict.tune.tuner.tune", tuned)
    path = _profile(tmp_path, "aa", {}, "coll")
    launch = parse([str(any_mpi.mpiexec), *"--hostfile hosts -n 2 true".split()])
    with open_profile(path) as profile:
        found = {
            one.name: one for one in list_remedies(profile, launch, "openmpi", {}, directory=tmp_path / "new")
        }
        assert not list_remedies(profile, launch, "openmpi", {})
    remedy = found["1 rule for collectives"]
    assert asked["launcher"][1:] == ["--hostfile", "hosts"]
    assert asked["plan"].rounds == 0
    assert remedy.variables["OMPI_MCA_coll_tuned_dynamic_rules_filename"] == str(remedy.file)


@pytest.mark.usefixtures("scotch", "cores")
def test_a_placement_uses_the_profile_of_its_own_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later trial uses its own profile. The job script shows how to get one."""
    placed = messages_between([(0, 1, 65536), (2, 3, 65536)], ["a", "b"] * 2)
    ranks = [{"path": 0, "rank": rank, "time": 10.0, "p2p_time": 5.0} for rank in range(4)]
    placed.tables = {**placed.tables, "ranks": draft(ranks=ranks).tables["ranks"]}
    found = _list(placed.write(tmp_path / "four.halo"))["placement of ranks"]
    words: list[list[str]] = []

    def ended(command: list[str], *rest: object) -> int:
        words.append(command)
        return 1

    monkeypatch.setattr("haloscope.hide.improve.trial_runs._run_command", ended)
    for name in ("first", "later"):
        (tmp_path / name).mkdir()
        runner = Runner(["mpiexec", "true"], tmp_path / name)
        (tmp_path / name / "run-1.log").touch()
        runner(found)
    assert [one[1:4] for one in words] == [
        ["place", str(tmp_path / name / "run-1.halo"), "--"] for name in ("first", "later")
    ]
    assert "place F.halo --" in found.script()[0]
