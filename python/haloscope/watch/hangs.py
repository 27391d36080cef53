"""`haloscope hang`: the roll-call of each running program, with the stacks of the ranks to blame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from haloscope.base.units import noun_text, ranks_text
from haloscope.watch.live import Process
from haloscope.watch.monitor import Looking
from haloscope.watch.rates import RunningProgram
from haloscope.watch.recorder import Builds
from haloscope.watch.roll_call import RollCall
from haloscope.watch.thread_stacks import Resolver, Stack, ask, plain

_MOST_ASKED = 4
_MOST_FRAMES = 24


@dataclass(frozen=True)
class Told:
    """The roll-call of one program."""

    program: RunningProgram
    roll: RollCall
    builds: Builds | None = None  # None: its ranks are on other nodes

    @property
    def text(self) -> str:
        """The verdict and the roll-call, as lines."""
        any_rank = self.program.any_process
        ranks = noun_text(any_rank.size, "rank")
        return f"{any_rank.program} (run {self.program.run}, {ranks}): {self.roll.text}"

    def stacks(self) -> list[Stack]:
        """Ask the ranks in the verdict for their stacks, as far as they are on this node."""
        verdict = self.roll.verdict
        if self.builds is None or verdict.kind == "none":
            return []
        culprits = set(verdict.ranks[:_MOST_ASKED])
        ranks = [process for process in self.program.after if process.rank in culprits]
        alive = [p for p in ranks if p.state not in ("dead", "") and not p.finalized]
        return _select_main_stacks(ask(alive, self.builds), alive)

    def as_json(self, stacks: Sequence[Stack], resolve: Resolver = plain) -> dict[str, Any]:
        """Return all of it as JSON; `resolve` names code addresses."""
        verdict = self.roll.verdict
        return {
            "run": self.program.run,
            "program": self.program.any_process.program,
            "ranks": self.program.any_process.size,
            "verdict": {"kind": verdict.kind, "text": verdict.text, "ranks": list(verdict.ranks)},
            "groups": list(self.roll.groups),
            "stacks": [
                {
                    "rank": stack.rank,
                    "process": stack.pid,
                    "thread": stack.tid,
                    "frames": list(_name_frames(stack, resolve)),
                    "silent": stack.silent,
                    "requests": stack.requests,
                    "waiting": list(stack.waiting),
                }
                for stack in stacks
            ],
        }


def roll_calls(looking: Looking) -> list[Told]:
    """Return the roll-call of each program, from the two looks that `looking` has taken.

    Raises `RecorderError` if no program runs.
    """
    builds = looking.builds if looking.is_here else None
    return [Told(program, program.roll_call(), builds) for program in looking.programs()]


def stack_lines(stacks: Sequence[Stack], resolve: Resolver = plain) -> list[str]:
    """Return lines for people: the requests that ranks wait for, and each different stack once."""
    lines = []
    alike: dict[tuple[str, ...], list[Stack]] = {}
    for stack in stacks:
        if stack.requests:
            more = "; …" if stack.requests > len(stack.waiting) else ""
            text = "; ".join(stack.waiting)
            lines.append(f"  rank {stack.rank} waits for {stack.requests} requests: {text}{more}")
        alike.setdefault(_name_frames(stack, resolve) or (stack.silent,), []).append(stack)
    for frames, same in alike.items():
        of = f"  stack of {ranks_text(sorted({stack.rank for stack in same}))}:"
        if same[0].silent:
            lines.append(f"{of} not known: {same[0].silent}")
        else:
            lines += [of, *(f"    {frame}" for frame in frames[:_MOST_FRAMES])]
    return lines


def _select_main_stacks(stacks: Sequence[Stack], processes: Sequence[Process]) -> list[Stack]:
    """Return the stacks without those of threads that are not in MPI."""
    inside = {
        (process.rank, thread.tid) for process in processes for thread in process.threads if thread.call
    }
    main = {(process.rank, process.main.tid) for process in processes}
    return [stack for stack in stacks if (stack.rank, stack.tid) in inside | main]


def _name_frames(stack: Stack, resolve: Resolver) -> tuple[str, ...]:
    """Return a stack as lines, without the frames of our library and those below the program's entry."""
    frames = [frame for frame in stack.frames if not _is_ours(frame.module)]
    return tuple(resolve(frames))


def _is_ours(module: str) -> bool:
    return Path(module).name.startswith("libhaloscope-")
