"""What the tables of any profile say of one another: counts and times that must add up.

`check(path)` knows nothing of the program. Times are sums of the same ticks in another order, so
they agree to rounding. It reads the file's own tables, which are exclusive.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl

import haloscope
from haloscope.explain import Profile
from support.time_parts import KINDS, check_times, mpi_time, read_ranks

# Of a call's requests, which may be of several kinds.
_COMPLETION = re.compile(r"MPI_(Wait|Start)(all|any|some)?$")
_KINDS = (
    ("io", re.compile(r"MPI_File_")),
    (
        "rma",
        re.compile(
            r"MPI_(Win_|R?put|R?get(_accumulate)?$|R?accumulate|Fetch_and|Compare_and)", re.IGNORECASE
        ),
    ),
    (
        "coll",
        re.compile(
            r"MPI_I?(barrier|bcast|(all)?gatherv?|scatterv?|alltoall[vw]?|(all)?reduce|reduce_scatter"
            r"(_block)?|(ex)?scan|neighbor_\w+?)(_init)?$",
            re.IGNORECASE,
        ),
    ),
    (
        "p2p",
        re.compile(
            r"MPI_I?([bsr]?send|recv|sendrecv|sendrecv_replace|m?probe|mrecv|p(send|recv))(_init)?$"
            r"|MPI_(Test|Pready|Parrived|Request_get_status|Grequest|Buffer_|Cancel|Request_free$)"
            r"|MPI_(Comm|Session)_(attach|detach|i?flush)_",
            re.IGNORECASE,
        ),
    ),
)


def kind_of(call: str) -> str:
    """The kind of an MPI function's time; `shared` where its requests decide."""
    name = call.removesuffix("_c")
    if _COMPLETION.match(name):
        return "shared"
    return next((kind for kind, pattern in _KINDS if pattern.match(name)), "other")


def check(path: Path) -> None:
    """Asserts that the tables agree with one another, if nothing is missing in them."""
    with haloscope.open(path) as profile:
        check_times(profile)
        info = profile.file.info
        dropped = profile.frame("processes", ["dropped"])["dropped"].sum()
        if info.get("partial") or info.get("rows_left_out") or dropped:
            return
        ranks = _by_path(read_ranks(profile))
        _check_roll_up(profile)
        _check_calls(profile, ranks)
        _check_sites(profile)
        _check_messages(profile, ranks)
        _check_collectives(profile, ranks)
        _check_ranks(profile)
        _check_slices(profile)
        _check_series(profile)


def _by_path(frame: pl.DataFrame) -> pl.DataFrame:
    numbers = [name for name in frame.columns if frame.schema[name] != pl.String]
    return frame.select(numbers).group_by("path").sum()


def _same(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return (left - right).abs() <= 1e-9 + 1e-7 * right.abs()


def _at_most(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return left <= right * (1 + 1e-7) + 1e-9


def _hold(frame: pl.DataFrame, **rules: pl.Expr) -> None:
    """Asserts that no row breaks a rule."""
    for name, rule in rules.items():
        broken = frame.filter(~rule.fill_null(value=False))
        columns = [
            "path" if "path" in frame.columns else "rank",
            *(x for x in rule.meta.root_names() if x in frame.columns),
        ]
        shown = broken.select(list(dict.fromkeys(columns)))
        assert broken.is_empty(), f"{name}: {shown.to_dicts()}"


def _joined(ranks: pl.DataFrame, sums: pl.DataFrame) -> pl.DataFrame:
    return ranks.join(sums, on="path", how="left", suffix="_there").fill_null(0)


def _check_roll_up(profile: Profile) -> None:
    """What `info` says of all ranks is what the tables say, and there is a binding a rank.

    Times are those of main threads, where others call MPI, too.
    """
    rollup = profile.info.get("rollup")
    if rollup is None:
        return
    processes = profile.frame("processes", ["rank", "host", "duration", "watched"])
    there = processes.filter(pl.col("watched") == 1)
    ranks, main = read_ranks(profile), read_ranks(profile, "main_thread")
    times = pl.concat([ranks.join(main, on="rank", how="anti"), main])
    in_mpi = times.select(mpi_time().sum()).item()
    expected: dict[str, Any] = {"rank_time": there["duration"].sum(), "mpi_time": in_mpi}
    for name in "p2p_time coll_time wait_time".split():
        expected[name] = times[name].sum() if len(times) else 0
    for name in "sends bytes_sent colls coll_bytes io_bytes".split():
        expected[name] = ranks[name].sum() if len(ranks) else 0
    for name, value in expected.items():
        assert abs(rollup.get(name, 0) - value) <= 1e-9 + 1e-7 * abs(value), name
    assert in_mpi <= expected["rank_time"] * (1 + 1e-7) + 1e-9
    assert rollup["hosts"] == processes["host"].n_unique()
    if "host_names" in rollup:
        assert sorted(rollup["host_names"]) == sorted(processes["host"].unique())
        assert sum(rollup["host_ranks"]) == len(there)
        shares = zip(rollup["host_ranks"], rollup["host_compute"], strict=True)
        compute = sum(number * mean for number, mean in shares)
        assert compute <= expected["rank_time"] * (1 + 1e-7) + 1e-9
        assert compute >= (expected["rank_time"] - in_mpi) * (1 - 1e-7) - 1e-9
    assert len(profile.table("binding")) == len(processes)


def _check_rank_calls(profile: Profile, calls: pl.DataFrame) -> None:
    """The calls of all ranks are those of all regions. A reader of another format may not have them."""
    by_rank = profile.frame("rank_calls")
    if by_rank.is_empty() and profile.info.get("source"):
        return
    sums = [pl.col("calls", "bytes", "time_total").sum(), pl.col("time_max").max()]
    both = (
        by_rank.group_by("call")
        .agg(sums)
        .join(calls.group_by("call").agg(sums), on="call", how="full", suffix="_there", coalesce=True)
    )
    for name in ("calls", "bytes", "time_total", "time_max"):
        _hold(
            both.rename({"call": "path"}), **{f"{name} by rank": _same(pl.col(name), pl.col(f"{name}_there"))}
        )


def _check_calls(profile: Profile, ranks: pl.DataFrame) -> None:
    """Each kind's functions have its time; what waits is shared out between the kinds."""
    calls = profile.frame("calls").with_columns(
        pl.col("call").map_elements(kind_of, return_dtype=pl.String).alias("kind")
    )
    _hold(calls, counted=pl.col("calls") > 0, longest=_at_most(pl.col("time_max"), pl.col("time_total")))
    _check_rank_calls(profile, calls)
    times = [
        pl.col("time_total").filter(pl.col("kind") == kind).sum().alias(f"{kind}_calls")
        for kind in (*KINDS, "shared")
    ]
    per_path = _joined(ranks, calls.group_by("path").agg(times))
    there = pl.sum_horizontal(f"{kind}_calls" for kind in (*KINDS, "shared"))
    # Without requests of other kinds, whatever waits is p2p.
    others = calls.filter(
        (pl.col("kind").is_in(["coll", "rma", "io"]))
        & pl.col("call").str.contains(r"MPI_(I|R|File_i)[a-z]|_init(_c)?$")
    )
    shares = {kind: pl.lit(0.0) if others.is_empty() else pl.col("shared_calls") for kind in KINDS}
    shares |= {"p2p": pl.col("shared_calls"), "other": pl.lit(0.0)}
    # Polls are p2p calls with a time of their own, which includes the time between them.
    polls = pl.col("poll_time")
    _hold(per_path, all_calls=_at_most(there, mpi_time()) & _at_most(mpi_time() - polls, there))
    for kind in KINDS:
        own, time = pl.col(f"{kind}_calls"), pl.col(f"{kind}_time")
        unknown = pl.lit(not others.is_empty() and kind != "other") | ((polls > 0) & (kind == "p2p"))
        _hold(
            per_path,
            **{
                f"{kind}_at_least": _at_most(own, time + (polls if kind == "p2p" else 0)),
                f"{kind}_at_most": _at_most(time, own + shares[kind]),
                f"{kind}_exactly": _same(own + shares[kind], time) | unknown,
            },
        )


def _check_sites(profile: Profile) -> None:
    """With call sites, each call and its time are in one row."""
    sites = profile.frame("sites")
    if sites.is_empty():
        return
    keys, sums = ["path", "call"], ["calls", "bytes", "time_total"]
    longest = pl.col("time_max").max()
    sums_by_site = profile.frame("calls").group_by(keys).agg(pl.col(sums).sum(), longest)
    added = sites.group_by(keys).agg(pl.col(sums).sum().name.suffix("_there"), longest.alias("longest"))
    both = sums_by_site.join(added, on=keys, how="full", coalesce=True).fill_null(-1)
    _hold(
        both,
        calls=pl.col("calls") == pl.col("calls_there"),
        bytes=pl.col("bytes") == pl.col("bytes_there"),
        times=_same(pl.col("time_total_there"), pl.col("time_total")),
        longest=_same(pl.col("longest"), pl.col("time_max")),
    )
    mean = pl.col("time_total") / pl.col("ranks")
    _hold(
        sites,
        ranks=pl.col("ranks").is_between(1, pl.col("calls")),
        squares=_at_most(mean * mean * pl.col("ranks"), pl.col("time_squares")),
    )


def _check_messages(profile: Profile, ranks: pl.DataFrame) -> None:
    """`partners` and `sizes` have the same messages and times, of which `ranks` has the sums."""
    own = profile.frame("ranks")
    partners = profile.frame("partners")
    by_rank = partners.group_by("path", "rank").sum().drop("partner")
    both = own.join(by_rank, on=["path", "rank"], how="left", suffix="_there").fill_null(0)
    counts = ("sends", "bytes_sent", "recvs", "bytes_recv")
    _hold(both, **{name: pl.col(name) == pl.col(f"{name}_there") for name in counts})
    _hold(both, partners=_at_most(pl.col("time_there"), pl.col("p2p_time")))
    distinct = partners.group_by("path", "rank").agg(
        (pl.col("sends") > 0).sum().alias("destinations"), (pl.col("recvs") > 0).sum().alias("sources")
    )
    both = own.join(distinct, on=["path", "rank"], how="left").fill_null(0)
    _hold(
        both,
        destinations=pl.col("dest_ranks_exclusive") == pl.col("destinations"),
        sources=pl.col("src_ranks_exclusive") == pl.col("sources"),
    )
    sizes = (
        _joined(ranks, _sizes(profile, "p2p"))
        .join(_by_path(partners).select("path", pl.col("time").alias("partners_time")), on="path", how="left")
        .fill_null(0)
    )
    _hold(
        sizes,
        messages=pl.col("messages") == pl.col("sends"),
        bytes=_within(pl.col("bytes_sent")),
        sizes_time=_same(pl.col("time_total"), pl.col("partners_time")),
    )


def _sizes(profile: Profile, kind: str) -> pl.DataFrame:
    """Messages of a kind by path, the bytes that they have at least and at most, and their time."""
    sizes = profile.frame("sizes").filter(pl.col("kind") == kind)
    low, high = (pl.col("messages") * pl.col(name) for name in ("bytes", "bytes_upper"))
    return sizes.group_by("path").agg(
        pl.col("messages").sum(), low.sum().alias("low"), high.sum().alias("high"), pl.col("time_total").sum()
    )


def _within(whole: pl.Expr) -> pl.Expr:
    return (whole >= pl.col("low")) & (whole <= pl.col("high"))


def _check_collectives(profile: Profile, ranks: pl.DataFrame) -> None:
    """`collectives` and `sizes` agree with `ranks`; and the one-sided sizes with theirs."""
    calls = profile.frame("calls").filter(pl.col("call").str.contains(r"_init(_c)?$"))
    preparing = calls.filter(pl.col("call").map_elements(kind_of, return_dtype=pl.String) == "coll")
    collectives = (
        profile.frame("collectives")
        .group_by("path")
        .agg(pl.col("calls").sum(), pl.col("time_total").sum().alias("collectives_time"))
    )
    prepared = preparing.group_by("path").agg(pl.col("time_total").sum().alias("prepared"))
    both = _joined(_joined(_joined(ranks, collectives), prepared), _sizes(profile, "coll"))
    _hold(
        both,
        calls=pl.col("calls") == pl.col("colls"),
        messages=pl.col("messages") == pl.col("colls"),
        bytes=_within(pl.col("coll_bytes")),
        time=_same(pl.col("collectives_time") + pl.col("prepared"), pl.col("coll_time")),
        sizes_time=_same(pl.col("time_total"), pl.col("collectives_time")),
    )
    one_sided = _joined(ranks, _sizes(profile, "rma"))
    _hold(
        one_sided,
        operations=pl.col("messages") == pl.col("rma_ops"),
        rma_bytes=_within(pl.col("rma_bytes")),
        rma_time=_at_most(pl.col("time_total"), pl.col("rma_time")),
    )


def _check_ranks(profile: Profile) -> None:
    """Parts are parts; the least is not above the largest; both between them and the sum."""
    skew = pl.col("skew_time").fill_null(0)
    rules = {"waiting": _at_most(pl.col("wait_time"), mpi_time())}
    # Of a part of the collectives it is an estimate, which may be above the time of all.
    if int(profile.info.get("sync_collectives", 0)) <= 1:
        rules["skew"] = _at_most(skew, pl.col("coll_time"))
    for name in ("sends", "recvs", "bytes_sent", "bytes_recv", "colls"):
        least, most = (pl.col(f"{name}_instance_{end}_exclusive") for end in ("min", "max"))
        rules[f"{name}_extremes"] = (least <= most) & (least * pl.col("instances") <= pl.col(name))
    _hold(read_ranks(profile), **rules)


def _check_slices(profile: Profile) -> None:
    """The slices of a rank are its regions."""
    slices = profile.frame("slices")
    if slices.is_empty():
        return
    names = [name for name in slices.columns if name not in ("rank", "slice", "start", "duration")]
    both = (
        profile.frame("ranks")
        .group_by("rank")
        .agg(pl.col(names).sum())
        .join(slices.group_by("rank").agg(pl.col(names).sum()), on="rank", how="left", suffix="_there")
        .fill_null(0)
    )
    _hold(both, **{name: _same(pl.col(f"{name}_there"), pl.col(name)) for name in names})


def _check_series(profile: Profile) -> None:
    """All instances of a rank in a region are its passes, and last as long."""
    series = profile.frame("series")
    if series.is_empty():
        return
    own = profile.frame("ranks")
    count = series.group_by("path", "rank").agg(pl.col("instances").sum().alias("recorded"))
    _hold(own.join(count, on=["path", "rank"], how="inner"), passes=pl.col("recorded") == pl.col("instances"))
