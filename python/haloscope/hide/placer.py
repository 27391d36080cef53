"""`haloscope place -- mpiexec …`: run a command whose ranks are where their partners are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from haloscope.base.objects import Abi
from haloscope.base.preloading import Choice, Outcome, find_target, run_preloaded
from haloscope.hide.libraries import build_placer

if TYPE_CHECKING:
    from haloscope.predict.placement import Proposal


def place(
    command: Sequence[str],
    proposal: Proposal,
    *,
    mpi: Abi | None = None,
    mpi_include: Sequence[Path] = (),
    quiet: bool = False,
) -> Outcome:
    """Run a launch command whose program gets its ranks in another order, and return how it ended.

    Processes stay where the launcher puts them. The program's MPI_COMM_WORLD has their ranks as
    `proposal` states, if that is worth it.

    * `proposal`: of `haloscope.propose_placement`.
    * `mpi`, `mpi_include`: the MPI's binary interface, and directories of its `mpi.h`, if they are not found.
    * `quiet`: do not say that the placer is being built.

    The outcome's `status` is that of `os.waitpid`. If the run has other nodes than the proposal, a rank
    says so on standard error, and all stay as they are. Raises `LaunchError` if nothing could be started.

        proposal = haloscope.propose_placement("app.halo")
        haloscope.place(["mpiexec", "-n", "64", "./app"], proposal)
    """
    from haloscope.predict.placement import mapping_text

    target = find_target(command, Choice(mpi, tuple(mpi_include)), "there are no ranks to place", quiet)
    placer = build_placer(target.mpi.headers, quiet)
    mapping = mapping_text(proposal) if proposal.is_worth_it else ""
    return Outcome(run_preloaded(target, placer, {"HALOSCOPE_PLACE": mapping}))
