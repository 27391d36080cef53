"""Speed of messages by the trace of a run: from the begin of the send to the end of the receive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from haloscope.base.errors import UsageError
from haloscope.explain.ensembles.ensemble import Ensemble
from haloscope.profile import Profile
from haloscope.profile.store import PROGRAM

_SCHEMA = {"profile": pl.String, "class": pl.Int64, "carried": pl.Float64, "seconds": pl.Float64}


def time_messages(profile: Profile, region: str = PROGRAM) -> pl.DataFrame:
    """Return `bytes` and `seconds` of each message that a region of a traced run sends.

    `seconds` is from the begin of the call that starts the send to the end of the call that completes the
    receive. The message travels within this time, so bytes ÷ seconds is never above the speed of the network.

    Raises:
        UsageError: The profile has no trace, or no such region.
    """
    waiting = profile.waiting
    calls = waiting.trace.calls
    messages = waiting.matches.messages.filter(pl.col("receive_completed") >= 0, pl.col("bytes") >= 0)
    tree = profile.regions
    is_inside = tree.with_descendants(tree.matching(region))
    sent, received = messages["send_started"].to_numpy(), messages["receive_completed"].to_numpy()
    times = (calls["end"].to_numpy()[received] - calls["begin"].to_numpy()[sent]) * 1e-9
    frame = messages.select("bytes", seconds=pl.Series(times, dtype=pl.Float64))
    return frame.filter(pl.Series(is_inside[calls["path"].to_numpy()[sent]]))


def sum_message_times(
    ensemble: Ensemble, profiles: Sequence[str], region: str, edges: Sequence[int]
) -> pl.DataFrame:
    """Return `carried` bytes and `seconds` of the messages of traced runs, by profile and size class."""
    paths = [path for path in ensemble.paths if str(path) in set(profiles)]

    def read(opened: Sequence[Profile]) -> Iterator[pl.DataFrame]:
        for profile in opened:
            if not profile.has_trace:
                continue
            try:
                timed = time_messages(profile, region)
            except UsageError:  # this run has no such region
                continue
            number = np.searchsorted(np.asarray(edges), timed["bytes"].to_numpy(), side="right")
            yield (
                timed.with_columns(
                    pl.Series("class", number, dtype=pl.Int64), profile=pl.lit(str(profile.path))
                )
                .group_by("profile", "class")
                .agg(carried=pl.col("bytes").sum().cast(pl.Float64), seconds=pl.col("seconds").sum())
            )

    parts = list(ensemble.each(paths, read))
    return pl.concat(parts) if parts else pl.DataFrame(schema=_SCHEMA)
