"""Haloscope profiles MPI programs, explains their communication, and helps to make them faster.

For each verb of the command line there is a function. A name is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.base.errors import ComponentError as ComponentError
    from haloscope.base.errors import HaloscopeError as HaloscopeError
    from haloscope.base.errors import LaunchError as LaunchError
    from haloscope.base.errors import MachineError as MachineError
    from haloscope.base.errors import OutputError as OutputError
    from haloscope.base.errors import ProfileError as ProfileError
    from haloscope.base.errors import RecorderError as RecorderError
    from haloscope.base.errors import SimulationError as SimulationError
    from haloscope.base.errors import TimingsError as TimingsError
    from haloscope.base.errors import UsageError as UsageError
    from haloscope.explain import history as history
    from haloscope.explain import open_all as open_all
    from haloscope.explain import report as report
    from haloscope.explain.checking import check as check
    from haloscope.explain.checking import learn_rules as learn_rules
    from haloscope.explain.comparing import compare as compare
    from haloscope.explain.export import export as export
    from haloscope.explain.findings import findings as findings
    from haloscope.hide import inject as inject
    from haloscope.hide import place as place
    from haloscope.hide import shm as shm
    from haloscope.hide.improve import improve as improve
    from haloscope.markov import regimes as regimes
    from haloscope.predict import model as model
    from haloscope.predict.bench import bench_collective as bench_collective
    from haloscope.predict.bench import bench_halo as bench_halo
    from haloscope.predict.bench import bench_noise as bench_noise
    from haloscope.predict.bench import bench_p2p as bench_p2p
    from haloscope.predict.placement import propose_placement as propose_placement
    from haloscope.predict.simulate import simulate as simulate
    from haloscope.predict.tune import tune as tune
    from haloscope.profile import open as open
    from haloscope.watch import comm_region as comm_region
    from haloscope.watch import doctor as doctor
    from haloscope.watch import env as env
    from haloscope.watch import metadata as metadata
    from haloscope.watch import recover as recover
    from haloscope.watch import region as region
    from haloscope.watch import run as run
    from haloscope.watch import top as top
    from haloscope.watch import value as value

    __version__: str

if not TYPE_CHECKING:
    _look_up, __dir__ = lazily(__name__, __file__)

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from haloscope.base.version import own_version

            return own_version()
        return _look_up(name)
