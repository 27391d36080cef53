"""Algorithms are what the library says it has, under each MPI there is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from haloscope.predict.bench import Library, library
from support.emulated_mpi import emulated_mpi
from support.mpi import Mpi

Reporting = Callable[..., Library]
# What each of these has had for many versions: more may come, so only the presence is asserted.
_KNOWN = {
    "openmpi": {"bcast": {"chain", "pipeline", "binomial"}, "allreduce": {"ring", "rabenseifner"}},
    "mpich": {
        "bcast": {"binomial", "scatter_ring_allgather", "nb", "smp"},
        "allgather": {"ring", "brucks", "recursive_doubling"},
        "reduce_scatter": {"pairwise", "noncommutative"},
    },
}


def test_the_library_lists_its_algorithms(used: Mpi) -> None:
    asked = library()
    assert asked.name.startswith({"openmpi": "Open MPI ", "mpich": "MPICH "}[used.abi])
    algorithms = {name: [one.name for one in asked.algorithms(name)] for name in asked.collectives()}
    assert len(algorithms) == 14
    for collective, names in algorithms.items():
        assert names[0] == "default"
        assert len(names) == len(set(names)), collective
    for collective, expected in _KNOWN[used.abi].items():
        assert expected <= set(algorithms[collective])


@pytest.fixture
def reporting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reporting:
    """`reporting(version, ...)` is a library that reports all that."""

    def make(
        version: str, variables: Mapping[str, str] | None = None, functions: bytes = b"", ompi_info: str = ""
    ) -> Library:
        file = tmp_path / "libmpi.so"
        file.write_bytes(functions)
        environment = emulated_mpi(tmp_path, version, file=file, variables=variables, ompi_info=ompi_info)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return library()

    return make


def test_a_library_that_cannot_be_asked(reporting: Reporting) -> None:
    other = reporting("Some MPI 1.0\nand more")
    assert other.name == "Some MPI 1.0"
    assert len(other.collectives()) == 14
    assert {one.name for name in other.collectives() for one in other.algorithms(name)} == {"default"}


_OMPI_INFO = """\
mca:coll:tuned:param:coll_tuned_bcast_algorithm:value:ignore
mca:coll:tuned:param:coll_tuned_bcast_algorithm:enumerator:value:0:ignore
mca:coll:tuned:param:coll_tuned_bcast_algorithm:enumerator:value:2:chain
mca:coll:tuned:param:coll_tuned_bcast_algorithm:enumerator:value:8:scatter_allgather
mca:coll:tuned:param:coll_tuned_bcast_algorithm:enumerator:value:11:of_tomorrow
mca:coll:tuned:param:coll_tuned_bcast_algorithm_segmentsize:value:0
mca:coll:tuned:param:coll_tuned_bcast_algorithm_chain_fanout:value:4
mca:coll:tuned:param:coll_tuned_allgatherv_algorithm:enumerator:value:1:default
mca:coll:tuned:param:coll_tuned_exscan_algorithm:enumerator:value:1:linear
"""


def test_open_mpi_is_taken_at_its_word(reporting: Reporting) -> None:
    found = reporting("Open MPI v4.9.1, package: x", ompi_info=_OMPI_INFO)
    assert found.name == "Open MPI 4.9.1"
    own, chain, whole, new = found.algorithms("bcast")
    assert (own.name, own.settings) == ("default", ())
    assert (chain.name, chain.number, chain.segments, chain.fanouts) == ("chain", 2, True, True)
    assert not whole.segments
    assert (new.name, new.segments, new.fanouts) == ("of_tomorrow", True, False)
    assert dict(new.settings)["OMPI_MCA_coll_tuned_bcast_algorithm"] == "11"
    # The word is the library's own choice here.
    assert [one.name for one in found.algorithms("allgatherv")] == ["default", "default_1"]
    assert "exscan" not in found.collectives()
    assert [one.name for one in found.algorithms("reduce")] == ["default"]


def test_segments_and_fanouts_are_settings(reporting: Reporting) -> None:
    own, chain, *_ = reporting("Open MPI v5.0.1", ompi_info=_OMPI_INFO).algorithms("bcast")
    both = dict(chain.with_segment(8192).with_fanout(2).settings)
    assert both["OMPI_MCA_coll_tuned_bcast_algorithm_segmentsize"] == "8192"
    assert both["OMPI_MCA_coll_tuned_bcast_algorithm_chain_fanout"] == "2"
    assert chain.with_segment(0) == chain
    assert own.with_segment(8192).settings == ()


@pytest.mark.parametrize("newline", ["\n", ""])
def test_mpich_descriptions_with_and_without_lines(reporting: Reporting, newline: str) -> None:
    lines = [
        "Variable to select bcast algorithm",
        "auto - Internal algorithm selection",
        "binomial   - Force Binomial Tree",
        "nb         - Force nonblocking algorithm",
        "tree       - Force tree-based algorithm",
    ]
    variables = {
        "MPIR_CVAR_BCAST_INTRA_ALGORITHM": newline.join(lines),
        "MPIR_CVAR_BCAST_TREE_KVAL": "k",
        "MPIR_CVAR_BCAST_TREE_PIPELINE_CHUNK_SIZE": "bytes",
        "MPIR_CVAR_BCAST_DEVICE_COLLECTIVE": "",
    }
    functions = b"\0MPIR_Bcast_intra_binomial\0MPIR_Bcast_allcomm_nb\0MPIR_Bcast_intra_tree\0"
    asked = reporting("MPICH Version:      4.9", variables, functions)
    assert asked.name == "MPICH 4.9"
    found = asked.algorithms("bcast")[1:]
    assert [one.name for one in found] == ["binomial", "nb", "tree"]
    assert [one.fanouts for one in found] == [False, False, True]
    assert dict(found[2].with_segment(4096).settings) == {
        "MPIR_CVAR_BCAST_INTRA_ALGORITHM": "tree",
        "MPIR_CVAR_BCAST_DEVICE_COLLECTIVE": "0",
        "MPIR_CVAR_BCAST_TREE_PIPELINE_CHUNK_SIZE": "4096",
    }
