"""What is to be injected into a run, and the text that tells the injector."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from haloscope.base.errors import UsageError
from haloscope.hide._latency import LatencyModel, seconds

__all__ = ["Event", "Plan", "read_event", "read_every"]

# The kernel's limit for one variable is 128 KiB.
_LONGEST = 120_000


@dataclass(frozen=True)
class Event:
    """The messages `first` … of a rank, so many of them, come later, once."""

    rank: int
    first: int
    seconds: float
    count: int = 1


@dataclass(frozen=True)
class Plan:
    """All that decides what is injected, the seed included."""

    intra: LatencyModel | None = None
    inter: LatencyModel | None = None
    events: Sequence[Event] = ()
    seed: int = 0
    every_messages: int = 1
    every_seconds: float = 0.0
    collectives: bool = True

    def text(self) -> str:
        """The value of HALOSCOPE_INJECT. Raises `UsageError`."""
        if not (self.intra or self.inter or self.events):
            raise UsageError("nothing to inject: say --latency, --intra, --inter or --once")
        words = [f"seed {self.seed} collectives {int(self.collectives)}"]
        words.append(f"every_messages {self.every_messages}")
        words.append(f"every_seconds {self.every_seconds:.12g}")
        words += [f"intra {self.intra.text()}"] if self.intra else []
        words += [f"inter {self.inter.text()}"] if self.inter else []
        words += [f"once {e.rank} {e.first} {e.count} {e.seconds:.12g}" for e in self.events]
        text = " ".join(words)
        if len(text) > _LONGEST:
            raise UsageError(
                "the models are too large for an environment variable: take one with fewer "
                "regimes or machine states"
            )
        return text


def read_event(text: str) -> Event:
    """Read `RANK:MESSAGE:DURATION` or `RANK:MESSAGE:DURATION:COUNT`."""
    parts = text.split(":")
    numbers = [part for part in [*parts[:2], *parts[3:]] if re.fullmatch(r"[0-9]{1,9}", part)]
    if not 3 <= len(parts) <= 4 or len(numbers) != len(parts) - 1:
        raise UsageError(f"--once {text!r}: not like 2:100:50ms or 2:100:50ms:2")
    count = int(parts[3]) if len(parts) == 4 else 1
    return Event(int(parts[0]), int(parts[1]), seconds(parts[2], "--once"), count)


def read_every(text: str) -> tuple[int, float]:
    """Return how long an instance of a model is: a number of latencies, or a duration."""
    if re.fullmatch(r"[0-9]{1,9}", text) and int(text) > 0:
        return int(text), 0.0
    if re.search(r"[a-zµμ]", text):
        return 1, seconds(text, "--every")
    raise UsageError(f"--every {text!r}: neither a number of messages nor a duration such as 2ms")
