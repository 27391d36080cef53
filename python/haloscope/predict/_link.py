"""What a message costs between two cores: Hockney, LogGP, PLogP, and piece by piece."""

from __future__ import annotations

from bisect import bisect_right
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from haloscope.base import quantities

__all__ = ["Cost", "Hockney", "Link", "LogGP", "PLogP", "Protocol", "Speed", "Text", "Time"]

Time = Annotated[Decimal, BeforeValidator(quantities.time)]
Cost = Annotated[Decimal, BeforeValidator(quantities.cost)]
Speed = Annotated[Decimal, BeforeValidator(quantities.speed)]
Text = Annotated[str, Field(min_length=1)]


class _Rules(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Protocol(_Rules):
    """From so many bytes on a message takes `latency` + bytes / `bandwidth`."""

    first: Annotated[int, Field(ge=0, alias="from")]
    name: str = ""
    latency: Cost
    bandwidth: Speed | None = None  # None: the size does not matter


class Hockney(_Rules):
    """One line through all sizes, `alpha` + bytes × `beta`; each relative error counts alike."""

    alpha: Cost
    beta: Cost
    alpha_interval: tuple[Cost, Cost] | None = None
    beta_interval: tuple[Cost, Cost] | None = None


class LogGP(_Rules):
    """Latency, overhead, gap between messages, and gap between the bytes of one, each a time.

    An interval holds the true value with 95 % confidence, given the samples.
    """

    L: Cost
    o: Cost
    g: Cost
    G: Cost
    L_interval: tuple[Cost, Cost] | None = None
    o_interval: tuple[Cost, Cost] | None = None
    g_interval: tuple[Cost, Cost] | None = None
    G_interval: tuple[Cost, Cost] | None = None


class PLogP(_Rules):
    """Gap g(m), send overhead os(m) and receive overhead or(m) of messages of m bytes."""

    bytes: Annotated[int, Field(ge=0)]
    g: Cost
    send: Annotated[Cost, Field(alias="os")]
    receive: Annotated[Cost, Field(alias="or")]


class Link(_Rules):
    """Messages between two cores: `latency` of small ones, `bandwidth` of large ones."""

    latency: Time
    latency_interval: tuple[Cost, Cost] | None = None
    bandwidth: Speed | None = None
    bandwidth_interval: tuple[Speed, Speed] | None = None
    hockney: Hockney | None = None
    loggp: LogGP | None = None
    protocols: tuple[Protocol, ...] = ()
    plogp: tuple[PLogP, ...] = ()

    @model_validator(mode="after")
    def _ordered(self) -> Link:
        starts = [protocol.first for protocol in self.protocols]
        if starts and (starts[0] != 0 or any(low >= high for low, high in pairwise(starts))):
            raise ValueError("protocols begin with the one from 0 on, and each begins later")
        return self

    def message_time(self, size: float) -> float:
        """Seconds from the send of `size` bytes until they are received."""
        starts, costs = self._pieces
        alpha, beta = costs[bisect_right(starts, size) - 1]
        return alpha + beta * size

    @cached_property
    def _pieces(self) -> tuple[list[int], list[tuple[float, float]]]:
        pieces = self.protocols or (
            Protocol(first=0, latency=self.latency, bandwidth=self.bandwidth),
        )
        costs = [
            (float(one.latency), float(1 / one.bandwidth) if one.bandwidth else 0.0)
            for one in pieces
        ]
        return [one.first for one in pieces], costs
