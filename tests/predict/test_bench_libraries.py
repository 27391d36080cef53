"""Algorithms are what the library says it has, under each MPI there is."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from haloscope.predict.bench._algorithms import mpich_algorithms, openmpi_algorithms
from haloscope.predict.bench._mpi_library import Algorithm
from support.mpi import Mpi
from support.mpis import tools

_ASK = """\
import json
from haloscope.predict.bench._mpi_library import library
asked = library()
algorithms = {c: [a.name for a in asked.algorithms(c)] for c in asked.collectives()}
print(json.dumps([asked.name, algorithms]))
"""
# What each of these has had for many versions: more may come, so only the presence is asserted.
_KNOWN = {
    "openmpi": {"bcast": {"chain", "pipeline", "binomial"}, "allreduce": {"ring", "rabenseifner"}},
    "mpich": {
        "bcast": {"binomial", "scatter_ring_allgather", "nb", "smp"},
        "allgather": {"ring", "brucks", "recursive_doubling"},
        "reduce_scatter": {"pairwise", "noncommutative"},
    },
}


def test_the_library_lists_its_algorithms(mpi: Mpi) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ASK], env=tools(mpi), capture_output=True, text=True, check=True, timeout=120
    )
    name, algorithms = json.loads(done.stdout)
    assert name.startswith({"openmpi": "Open MPI ", "mpich": "MPICH "}[mpi.abi])
    for collective, names in algorithms.items():
        assert names[0] == "default"
        assert len(names) == len(set(names)), collective
    for collective, expected in _KNOWN[mpi.abi].items():
        assert expected <= set(algorithms[collective])


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


def test_open_mpi_is_taken_at_its_word() -> None:
    found = openmpi_algorithms(_OMPI_INFO)
    chain, whole, new = found["bcast"]
    assert (chain.name, chain.number, chain.segments, chain.fanouts) == ("chain", 2, True, True)
    assert not whole.segments
    assert (new.name, new.segments, new.fanouts) == ("of_tomorrow", True, False)
    assert dict(new.settings)["OMPI_MCA_coll_tuned_bcast_algorithm"] == "11"
    # The word is the library's own choice here.
    assert [one.name for one in found["allgatherv"]] == ["default_1"]
    assert set(found) == {"bcast", "allgatherv"}


def test_segments_and_fanouts_are_settings() -> None:
    chain = openmpi_algorithms(_OMPI_INFO)["bcast"][0]
    both = dict(chain.with_segment(8192).with_fanout(2).settings)
    assert both["OMPI_MCA_coll_tuned_bcast_algorithm_segmentsize"] == "8192"
    assert both["OMPI_MCA_coll_tuned_bcast_algorithm_chain_fanout"] == "2"
    assert chain.with_segment(0) == chain
    assert Algorithm("bcast").with_segment(8192).settings == ()


@pytest.mark.parametrize("newline", ["\n", ""])
def test_mpich_descriptions_with_and_without_lines(newline: str) -> None:
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
    library = b"\0MPIR_Bcast_intra_binomial\0MPIR_Bcast_allcomm_nb\0MPIR_Bcast_intra_tree\0"
    found = mpich_algorithms(variables, library)["bcast"]
    assert [one.name for one in found] == ["binomial", "nb", "tree"]
    assert [one.fanouts for one in found] == [False, False, True]
    assert dict(found[2].with_segment(4096).settings) == {
        "MPIR_CVAR_BCAST_INTRA_ALGORITHM": "tree",
        "MPIR_CVAR_BCAST_DEVICE_COLLECTIVE": "0",
        "MPIR_CVAR_BCAST_TREE_PIPELINE_CHUNK_SIZE": "4096",
    }
