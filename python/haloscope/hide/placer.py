"""The work of `haloscope place -- mpiexec …`: run a command with reordered ranks."""

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
    """Run a launch command whose program has its ranks in a different order.

    Processes stay where the launcher puts them. MPI_COMM_WORLD of the program has the order of `proposal`, if
    that is worth it.

    Args:
        command: The launch command, as a list of words.
        proposal: Result of `haloscope.propose_placement`.
        mpi: Binary interface of the MPI, if it is not found.
        mpi_include: Directories of `mpi.h`, if they are not found.
        quiet: Whether to suppress the message about building the placer.

    Returns:
        The outcome. Its `status` is that of `os.waitpid`.

    Raises:
        LaunchError: The command cannot be started.

    Examples:
        >>> proposal = haloscope.propose_placement("app.halo")
        >>> haloscope.place(["mpiexec", "-n", "64", "./app"], proposal)
    """
    from haloscope.predict.placement import make_mapping_text

    target = find_target(command, Choice(mpi, tuple(mpi_include)), "there are no ranks to place", quiet)
    placer = build_placer(target.mpi.headers, quiet)
    mapping = make_mapping_text(proposal) if proposal.is_worth_it else ""
    return Outcome(run_preloaded(target, placer, {"HALOSCOPE_PLACE": mapping}))
