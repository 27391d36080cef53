"""Measurements: what the machine and its MPI library take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.predict.bench.collective_runs import collective
    from haloscope.predict.bench.exchanges import Method as StencilMethod
    from haloscope.predict.bench.exchanges import Result as StencilResult
    from haloscope.predict.bench.exchanges import stencil
    from haloscope.predict.bench.exchanges import write as write_stencil
    from haloscope.predict.bench.foreign import read_any, write_osu
    from haloscope.predict.bench.grid import Grid
    from haloscope.predict.bench.method import Method as CollectiveMethod
    from haloscope.predict.bench.mpi_library import Algorithm, Library, library
    from haloscope.predict.bench.p2p_tests import TESTS as P2P_TESTS
    from haloscope.predict.bench.p2p_tests import Failure, p2p
    from haloscope.predict.bench.p2p_tests import Measured as P2pMeasured
    from haloscope.predict.bench.p2p_tests import Method as P2pMethod
    from haloscope.predict.bench.p2p_tests import Point as P2pPoint
    from haloscope.predict.bench.p2p_tests import measure as measure_p2p
    from haloscope.predict.bench.p2p_output import header as p2p_header
    from haloscope.predict.bench.p2p_output import record as p2p_record
    from haloscope.predict.bench.p2p_output import row as p2p_row
    from haloscope.predict.bench.output_stream import stream
    from haloscope.predict.bench.surroundings import Noise, noise
    from haloscope.predict.bench.sweep import Sweep, frame, joined, measured_points
    from haloscope.predict.bench.sweep_page import write_page
    from haloscope.predict.bench.system import Pair, Shared, System, Topology, topology
    from haloscope.predict.bench.workload import Point as CollectivePoint
    from haloscope.predict.bench.workload import Workload, read_workload, workload_text

__all__ = [
    "P2P_TESTS",
    "Algorithm",
    "CollectiveMethod",
    "CollectivePoint",
    "Failure",
    "Grid",
    "Library",
    "Noise",
    "P2pMeasured",
    "P2pMethod",
    "P2pPoint",
    "Pair",
    "Shared",
    "StencilMethod",
    "StencilResult",
    "Sweep",
    "System",
    "Topology",
    "Workload",
    "collective",
    "frame",
    "joined",
    "library",
    "measure_p2p",
    "measured_points",
    "noise",
    "p2p",
    "p2p_header",
    "p2p_record",
    "p2p_row",
    "read_any",
    "read_workload",
    "stencil",
    "stream",
    "topology",
    "workload_text",
    "write_osu",
    "write_page",
    "write_stencil",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "Algorithm": "_mpi_library",
            "CollectiveMethod": "_collective:Method",
            "CollectivePoint": "_workload:Point",
            "Failure": "_p2p",
            "Grid": "_grid",
            "Library": "_mpi_library",
            "Noise": "_surroundings",
            "P2P_TESTS": "_p2p:TESTS",
            "P2pMeasured": "_p2p:Measured",
            "P2pMethod": "_p2p:Method",
            "p2p": "_p2p",
            "P2pPoint": "_p2p:Point",
            "Pair": "_system",
            "Shared": "_system",
            "StencilMethod": "_exchanges:Method",
            "StencilResult": "_exchanges:Result",
            "collective": "_collective",
            "stencil": "_exchanges",
            "Sweep": "_sweep",
            "System": "_system",
            "Topology": "_system",
            "Workload": "_workload",
            "frame": "_sweep",
            "joined": "_sweep",
            "library": "_mpi_library",
            "measure_p2p": "_p2p:measure",
            "measured_points": "_sweep",
            "noise": "_surroundings",
            "p2p_header": "_p2p_output:header",
            "p2p_record": "_p2p_output:record",
            "p2p_row": "_p2p_output:row",
            "read_any": "_foreign",
            "read_workload": "_workload",
            "stream": "_stream",
            "topology": "_system",
            "workload_text": "_workload",
            "write_osu": "_foreign",
            "write_page": "_sweep_page",
            "write_stencil": "_exchanges:write",
        },
    )
