"""A collective as its messages: who sends how much to whom, in which step of its program."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from haloscope.base.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["MESSAGE", "Schedule"]

MESSAGE = np.dtype([
    ("source", np.int32), ("target", np.int32), ("source_step", np.int32),
    ("target_step", np.int32), ("bytes", np.int64), ("added", np.int64), ("meets", np.uint8),
])  # fmt: skip
_MOST_MESSAGES = 1 << 23


class Schedule:
    """Messages in an order in which they can be executed.

    Every rank goes through steps: in one of them it begins to send and to receive any number of
    messages, and the next one begins when all of them are done. A message whose source and target
    are one is work: bytes that a rank adds.
    """

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self._steps = np.zeros(ranks, np.int64)
        self._parts: list[NDArray[np.void]] = []
        self._number = 0

    def send(
        self, source: ArrayLike, target: ArrayLike, size: ArrayLike, *,
        source_step: ArrayLike = 1, target_step: ArrayLike = 1, added: ArrayLike = 0,
        meets: bool = True,
    ) -> None:  # fmt: skip
        """Add messages; steps count from where each rank is now, and 1 is its next one.

        `meets`: the receive is not posted ahead, so that a message that is not eager waits for its
        target. `added` bytes are added to others as soon as they have come.
        """
        arrays = np.broadcast_arrays(source, target, size, source_step, target_step, added)
        count = arrays[0].size
        self._number += count
        if self._number > _MOST_MESSAGES:
            raise UsageError(
                f"more than {_MOST_MESSAGES} messages in one collective: choose larger segments"
            )
        part = np.empty(count, MESSAGE)
        for name, values in zip(
            ("source", "target", "bytes", "source_step", "target_step", "added"),
            (arrays[0], arrays[1], arrays[2], arrays[3], arrays[4], arrays[5]), strict=True,
        ):  # fmt: skip
            part[name] = values.ravel()
        part["source_step"] += self._steps[part["source"]]
        part["target_step"] += self._steps[part["target"]]
        part["meets"] = meets
        for side in ("source", "target"):
            np.maximum.at(self._steps, part[side], part[f"{side}_step"])
        self._parts.append(part)

    def add(self, ranks: ArrayLike, size: ArrayLike) -> None:
        """Each of the ranks adds so many bytes to others, as its next step."""
        self.send(ranks, ranks, 0, added=size)

    @cached_property
    def messages(self) -> NDArray[np.void]:
        """All of them, in order; no more can be added."""
        if not self._parts:
            return np.empty(0, MESSAGE)
        return np.concatenate(self._parts)

    @cached_property
    def columns(self) -> dict[str, NDArray[Any]]:
        """The same by name, each in one piece."""
        return {name: np.ascontiguousarray(self.messages[name]) for name in MESSAGE.names or ()}
