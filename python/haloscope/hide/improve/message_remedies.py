"""Remedies of messages: protocols and their limits, progress, copies, placement."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from haloscope.base.errors import HaloscopeError
from haloscope.base.units import bytes_text, percent_text
from haloscope.hide.improve.remedy import PROFILE, Remedy
from haloscope.hide.improve.situation import SHARE, Situation

# Bytes: ranges of sizes for which an eager limit may matter.
_EAGER = ((2048, 65536), (65537, 1 << 20))
_LARGE = 32768  # bytes: smallest message that the shm library copies
_LONG, _FRAGMENT = 1 << 20, 131072  # bytes: long messages, and parts of them between which others may pass
_LEAST_SEND = 32768  # bytes: the smallest default of max_send_size
_LATE = ("late_sender", "late_receiver", "blocking_transfer", "serial_chain")


def improve_messages(run: Situation) -> Iterator[Remedy]:
    """Yield remedies if messages take a tenth of the time."""
    if run.share("p2p") < SHARE:
        return
    yield from _raise_eager_limit(run)
    if run.has_nodes:
        yield from _shorten_fragments(run)
        yield from _use_placement(run)
        yield from _divide_connections(run)
    yield from _use_shm_library(run)
    yield from _make_progress(run)


def _raise_eager_limit(run: Situation) -> Iterator[Remedy]:
    """Yield a larger eager limit, if many messages have sizes that present limits may affect."""
    every = int(run.sizes["messages"].sum())
    for smallest, largest in _EAGER:
        between = run.sizes.filter(pl.col("bytes").is_between(smallest, largest))
        count = int(between["messages"].sum())
        if not every or count < SHARE * every:
            continue
        most = int(between["bytes"].max())  # type: ignore[arg-type]
        limit = 1 << most.bit_length()
        why = (
            f"{percent_text(count, every)} of the messages have {bytes_text(smallest)} to {bytes_text(most)}"
        )
        if run.abi == "openmpi":
            # An eager message has to fit into one send.
            kinds = ("eager_limit", "max_send_size") if limit > _LEAST_SEND else ("eager_limit",)
            names = [f"OMPI_MCA_btl_{link}_{kind}" for link in ("vader", "sm", "tcp") for kind in kinds]
        else:
            names = ["UCX_RNDV_THRESH", "MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD"]
        rules = ("protocol_limit", "late_receiver", "late_sender")
        yield Remedy(f"eager limit of {limit} bytes", why, dict.fromkeys(names, str(limit)), rules=rules)


def _shorten_fragments(run: Situation) -> Iterator[Remedy]:
    """Yield fragments of long messages, which Open MPI sends whole over TCP by default.

    The go-ahead for a message of the other direction waits behind them, on the same connection.
    """
    share = run.share_of_bytes(_LONG)
    if run.abi == "openmpi" and share >= SHARE:
        why = f"{percent_text(share, 1.0)} of the bytes are in messages of {bytes_text(_LONG)} or more"
        wanted = {"OMPI_MCA_btl_tcp_rdma_pipeline_frag_size": str(_FRAGMENT)}
        yield Remedy("long messages over TCP in fragments", why, wanted, rules=_LATE)


def _divide_connections(run: Situation) -> Iterator[Remedy]:
    share = run.share_of_bytes(_LARGE)
    if run.abi == "openmpi" and share >= SHARE:
        why = f"{percent_text(share, 1.0)} of the bytes are in messages of {bytes_text(_LARGE)} or more"
        yield Remedy("two TCP connections", why, {"OMPI_MCA_btl_tcp_links": "2"}, rules=_LATE)


def _use_shm_library(run: Situation) -> Iterator[Remedy]:
    share = run.share_of_bytes(_LARGE)
    if share < SHARE or run.ranks_per_node < 2:
        return
    why = f"{percent_text(share, 1.0)} of the bytes are in large messages"
    around = ("shm", "--share-heap", "--quiet", "--")
    yield Remedy("the shm library", why, around=around, rules=("blocking_transfer", "late_receiver"))
    if run.abi == "openmpi":
        name = "OMPI_MCA_btl_vader_single_copy_mechanism"
        yield Remedy("large messages without the kernel's copy", why, {name: "none"})


def _make_progress(run: Situation) -> Iterator[Remedy]:
    """Yield progress by threads while ranks compute, if there are cores for these threads."""
    calls = run.profile.frame("calls", ["call", "calls"])
    ahead = int(calls.filter(pl.col("call").is_in(["MPI_Isend", "MPI_Irecv"]))["calls"].sum())
    if not ahead or 2 * run.ranks_per_node > run.cores:
        return
    why = "messages may move while ranks compute, and there are free cores"
    if run.abi == "mpich":
        yield Remedy("asynchronous progress", why, {"MPIR_CVAR_ASYNC_PROGRESS": "1"}, rules=_LATE)
    elif run.has_nodes:
        yield Remedy("a progress thread for TCP", why, {"OMPI_MCA_btl_tcp_progress_thread": "1"}, rules=_LATE)


def _use_placement(run: Situation) -> Iterator[Remedy]:
    from haloscope.predict.placement import propose

    try:
        proposal = propose(run.profile.path)
    except HaloscopeError:  # no Scotch, or missing ranks: other remedies remain
        return
    if proposal.is_worth_it:
        spared = percent_text(proposal.bytes_before - proposal.bytes_after, proposal.bytes_before)
        why = f"{spared} fewer bytes between nodes"
        around = ("place", PROFILE, "--")
        yield Remedy("placement of ranks", why, around=around, rules=("scattered_partners",))
