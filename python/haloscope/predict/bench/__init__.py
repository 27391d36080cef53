"""Measurements: what the machine and its MPI library take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.predict.bench.collective_runs import bench_collective as bench_collective
    from haloscope.predict.bench.collective_runs import collective as collective
    from haloscope.predict.bench.foreign import read_any as read_any
    from haloscope.predict.bench.foreign import write_osu as write_osu
    from haloscope.predict.bench.grid import BenchGrid as BenchGrid
    from haloscope.predict.bench.halo_exchange import HaloMethod as HaloMethod
    from haloscope.predict.bench.halo_exchange import HaloResult as HaloResult
    from haloscope.predict.bench.halo_exchange import bench_halo as bench_halo
    from haloscope.predict.bench.halo_exchange import halo as halo
    from haloscope.predict.bench.halo_output import write_halo as write_halo
    from haloscope.predict.bench.library_in_use import library as library
    from haloscope.predict.bench.method import CollectiveMethod as CollectiveMethod
    from haloscope.predict.bench.output_stream import stream as stream
    from haloscope.predict.bench.p2p_output import make_p2p_header as make_p2p_header
    from haloscope.predict.bench.p2p_output import make_p2p_record as make_p2p_record
    from haloscope.predict.bench.p2p_output import make_p2p_row as make_p2p_row
    from haloscope.predict.bench.p2p_points import Failure as Failure
    from haloscope.predict.bench.p2p_points import P2pPoint as P2pPoint
    from haloscope.predict.bench.p2p_tests import P2P_TESTS as P2P_TESTS
    from haloscope.predict.bench.p2p_tests import P2pMeasured as P2pMeasured
    from haloscope.predict.bench.p2p_tests import P2pMethod as P2pMethod
    from haloscope.predict.bench.p2p_tests import bench_p2p as bench_p2p
    from haloscope.predict.bench.p2p_tests import measure_p2p as measure_p2p
    from haloscope.predict.bench.p2p_tests import p2p as p2p
    from haloscope.predict.bench.surroundings import Noise as Noise
    from haloscope.predict.bench.surroundings import bench_noise as bench_noise
    from haloscope.predict.bench.surroundings import noise as noise
    from haloscope.predict.bench.sweep import Sweep as Sweep
    from haloscope.predict.bench.sweep import join_sweeps as join_sweeps
    from haloscope.predict.bench.sweep import read_points as read_points
    from haloscope.predict.bench.sweep_page import write_page as write_page
    from haloscope.predict.bench.sweep_points import POINTS_TABLE as POINTS_TABLE
    from haloscope.predict.bench.sweep_points import frame as frame
    from haloscope.predict.bench.system import BenchSystem as BenchSystem
    from haloscope.predict.bench.system import Pair as Pair
    from haloscope.predict.bench.system import Shared as Shared
    from haloscope.predict.bench.system import Topology as Topology
    from haloscope.predict.bench.system import topology as topology
    from haloscope.predict.bench.workload import CollectivePoint as CollectivePoint
    from haloscope.predict.bench.workload import Workload as Workload
    from haloscope.predict.bench.workload import read_workload as read_workload
    from haloscope.predict.bench.workload import workload_text as workload_text
    from haloscope.predict.mpi_library import Algorithm as Algorithm
    from haloscope.predict.mpi_library import Library as Library

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
