"""The programs of `findings.py`: programs with a planted problem, and clean programs."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Problem:
    """A problem of planted.c, with the rules that shall find it.

    The program runs `times` iterations. It is never simulated if `here_only`, and runs on one processor if
    `is_bound`. `algorithm` is SimGrid's. If `hosts` is not 0, it is simulated on a network of these hosts
    with this `latency` and `bandwidth` of a link.
    """

    name: str
    rules: tuple[str, ...]
    ranks: int = 2
    times: int = 60
    hosts: int = 0
    latency: str = "5 us"
    bandwidth: str = "10 Gbit/s"
    is_bound: bool = False
    here_only: bool = False
    algorithm: str = ""
    ranks_held: int = 0
    scale: float = 1.0

    @property
    def held_out(self) -> Problem:
        """The problem with ranks and length of computing that were not used to choose thresholds."""
        return replace(self, ranks=self.ranks_held or self.ranks, scale=0.6)


PROBLEMS = (
    Problem("unequal_work", ("imbalance",), ranks=4, ranks_held=6),
    Problem("unmarked_work", ("imbalance",), ranks_held=3),
    Problem("turns_of_work", ("imbalance",), ranks_held=3),
    Problem("growing_work", ("imbalance",), ranks=4, ranks_held=3),
    Problem("slow_rank", ("slow_place",), ranks=4, ranks_held=5),
    Problem("slow_host", ("slow_place",), ranks=8, hosts=2, ranks_held=12),
    Problem("one_cpu", ("shared_cpu",), times=150, is_bound=True, here_only=True),
    Problem("many_small", ("small_messages",), times=600),
    Problem("many_results", ("small_messages",), times=1500),
    Problem("late_send", ("late_sender",), ranks_held=3),
    Problem("late_exchange", ("late_sender",), ranks_held=4),
    Problem("late_receive", ("late_receiver",), ranks_held=4),
    Problem("over_limit", ("protocol_limit",), here_only=True),
    Problem("over_limit_of_network", ("protocol_limit",), ranks=8, hosts=8),
    Problem("chain", ("serial_chain",), ranks=4, ranks_held=6),
    Problem("turns", ("serial_chain",)),
    Problem("no_overlap", ("blocking_transfer",), ranks=8, hosts=4, latency="2 ms"),
    Problem("no_overlap_large", ("blocking_transfer",), ranks=8, hosts=8),
    Problem("broadcast", ("slow_algorithm",), ranks=16, hosts=4, algorithm="bcast=flattree", ranks_held=12),
    Problem("scattered", ("scattered_partners",), ranks=16, hosts=4),
    Problem("polls", ("polling",), times=100, here_only=True),
    Problem("new_communicators", ("communicators_made",), times=500),
)


@dataclass(frozen=True)
class Clean:
    """A clean program: its command and its ranks. `{NAME}` is replaced by the path of a program or file."""

    name: str
    words: str
    ranks: int = 2
    hosts: int = 0


CLEAN = (
    Clean("cg", "{cg} --nx 40 --ny 40 --nz 40 --iterations 150"),
    Clean("cg, larger", "{cg} --nx 72 --ny 72 --nz 72 --iterations 40"),
    Clean("cg, simulated", "cg --nx 64 --ny 64 --nz 64 --iterations 5", ranks=8, hosts=8),
    Clean("sweep", "{sweep} --procs 2,1,1 --zones 32,32,32"),
    Clean("sweep, other way", "{sweep} --procs 1,2,1 --zones 24,24,48"),
    Clean("amr", "{amr} --npx 2 --nx 32 --ny 32 --nz 32 --num_vars 10 --num_refine 0"),
    Clean("poisson", "{poisson} --level 4"),
    Clean("ring", "{clean} ring off 2000"),
    Clean("halo", "{clean} halo off 600"),
    Clean("allreduce", "{clean} allreduce off 3000"),
    Clean("gather", "{clean} gather off 1500"),
    Clean("pipeline", "{clean} pipeline off 1500"),
    Clean("halo, simulated", "{clean} halo off 40", ranks=16, hosts=4),
    Clean("LAMMPS", "lmp -log none -in {in/in.melt}"),
    Clean("LAMMPS, one rank", "lmp -log none -in {in/in.melt}", ranks=1),
    Clean(
        "miniAMR",
        "{bin/miniAMR.x} --npx 2 --npy 1 --npz 1 --nx 8 --ny 8 --nz 8 --num_tsteps 20 --max_blocks 600",
    ),
    Clean("miniAMR, one level", "{bin/miniAMR.x} --npx 1 --npy 2 --npz 1 --num_refine 0 --num_tsteps 60"),
    Clean("HPCG", "{bin/xhpcg}"),
    Clean("CloverLeaf", "{bin/clover_leaf}"),
    Clean("CloverLeaf, one rank", "{bin/clover_leaf}", ranks=1),
)
