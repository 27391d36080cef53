"""Candidate remedies of a run, from its launch command and its profile, without a change of the program."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from haloscope.base.errors import HaloscopeError
from haloscope.base.launch import LaunchCommand
from haloscope.base.objects import Abi
from haloscope.base.units import bytes_text, noun_text, percent_text

if TYPE_CHECKING:
    from haloscope.profile import Profile

# Placeholder in `Remedy.around` for the profile of the unchanged run.
PROFILE = "F.halo"

# Settings that may cost time. Settings that select networks and hosts are not included.
_SETTING = re.compile(
    r"((OMPI|PRTE)_MCA_|)"
    r"(coll_\w+|btl_\w+_(eager_limit|rndv_eager_limit|max_send_size|flags|free_list_\w+|rdma_pipeline_\w+)|pml_\w+|osc\w*|"
    r"mpi_yield_when_idle|mpi_leave_pinned\w*|opal_progress_\w+|(hwloc|rmaps)_base_(binding_policy|cpu_list|cpu_set)|"
    r"hwloc_default_binding_policy|mpi_preconnect_mpi|btl_\w+_use_cma|btl_\w+_single_copy_mechanism)"
    r"|MPIR_CVAR_(?!CH4_NETMOD|OFI_USE_PROVIDER)\w+|UCX_RNDV\w*|UCX_ZCOPY_THRESH|I_MPI_(ADJUST|EAGER|SHM|WAIT|PIN)\w*"
)
_ENVIRONMENT = re.compile(r"(OMPI|PRTE)_MCA_|MPIR_CVAR_|UCX_|I_MPI_")
_BINDING = ("bind-to", "map-by", "rank-by", "cpu-list", "cpu-set")
_SMALLEST, _LARGEST = 2048, 65536  # bytes: range of sizes for which an eager limit may matter
_LARGE = 32768  # bytes: smallest message that the shm library copies
_LONG, _FRAGMENT = 1 << 20, 131072  # bytes: long messages, and parts of them between which others may pass
_LEAST_SEND = 32768  # bytes: the smallest default of max_send_size
_SHARE = 0.1  # smallest share of the time or of the bytes that is a reason for a remedy


@dataclass(frozen=True)
class Remedy:
    """A change of a launch command.

    `variables` are set, or unset (None). The words `without` are removed. The verb `around` is put in front.
    """

    name: str
    why: str
    variables: Mapping[str, str | None] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    around: tuple[str, ...] = ()

    def apply(self, command: Sequence[str]) -> list[str]:
        """Return the launch command without the removed words. The caller puts verbs in front."""
        words = list(command)
        size = len(self.without)
        for at in range(len(words) - size + 1 if size else 0):
            if tuple(words[at : at + size]) == self.without:
                return words[:at] + words[at + size :]
        return words

    def script(self) -> list[str]:
        """Return lines for a job script, without the launch command itself."""
        lines = [
            f"unset {name}" if value is None else f"export {name}={shlex.quote(value)}"
            for name, value in self.variables.items()
        ]
        lines += [f"# without {' '.join(self.without)}"] if self.without else []
        if not self.around:
            return lines
        note = f" ({PROFILE}: write it with haloscope run -o {PROFILE})" if PROFILE in self.around else ""
        return [*lines, f"# before the launch command: haloscope {' '.join(self.around)}{note}"]


def list_remedies(
    profile: Profile, launch: LaunchCommand, abi: Abi, environment: Mapping[str, str]
) -> list[Remedy]:
    """Return the candidates: settings of the launch first, then suggestions from the profile."""
    found = [*_drop_settings(launch, environment), *_relieve_crowded_nodes(profile, abi, environment)]
    waits = _message_share(profile)
    if waits >= _SHARE:
        found += [
            *_raise_eager_limit(profile, abi, environment),
            *_shorten_fragments(profile, abi, environment),
            *_use_shm_library(profile),
            *_use_placement(profile),
        ]
    return found


def _drop_settings(launch: LaunchCommand, environment: Mapping[str, str]) -> Iterator[Remedy]:
    """Yield one remedy per setting of the environment or launch command: the run without it."""
    for name in sorted(environment):
        if _ENVIRONMENT.match(name) and _SETTING.fullmatch(name):
            text = f"{name}={environment[name]}"
            yield Remedy(f"without {text}", "the environment sets it", {name: None})
    words = launch.options
    for at, word in enumerate(words):
        option = word.lstrip("-")
        if word[:1] != "-":
            continue
        two = words[at : at + 3]
        if option in ("mca", "genv", "env") and len(two) == 3 and _SETTING.fullmatch(two[1]):
            yield Remedy(f"without {' '.join(two)}", "the launch command sets it", without=two)
        elif option in _BINDING and len(two) > 1:
            yield Remedy(f"without {' '.join(two[:2])}", "the launch command binds ranks", without=two[:2])


def _relieve_crowded_nodes(profile: Profile, abi: Abi, environment: Mapping[str, str]) -> Iterator[Remedy]:
    """Yield settings for nodes with more ranks than cores."""
    ranks = profile.frame("processes", ["host"])["host"].value_counts()["count"].max()
    cores = len(os.sched_getaffinity(0))
    if not isinstance(ranks, int) or ranks <= cores:
        return
    why = f"{noun_text(ranks, 'rank')} share {noun_text(cores, 'core')}"
    if abi == "openmpi":
        yielding = {"OMPI_MCA_mpi_yield_when_idle": "1"}
        yield Remedy("idle ranks yield", why, _select_different(yielding, environment))
        free = {"OMPI_MCA_hwloc_base_binding_policy": "none", "PRTE_MCA_hwloc_default_binding_policy": "none"}
        yield Remedy("ranks are bound to no core", why, _select_different(free, environment))
    else:
        throttle = "MPIR_CVAR_CH4_PROGRESS_THROTTLE"
        slower = {throttle: "1", f"{throttle}_NO_PROGRESS_COUNT": "64"}
        yield Remedy("idle ranks poll less", why, _select_different(slower, environment))


def _select_different(wanted: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str | None]:
    return {name: value for name, value in wanted.items() if environment.get(name) != value}


def _message_share(profile: Profile) -> float:
    """Return the share of the ranks' time in point-to-point calls."""
    rows = profile.table("regions")
    if not len(rows):
        return 0.0
    whole = rows.row(0, named=True)
    return float(whole["p2p_time_mean"] or 0) / max(float(whole["time_mean"] or 0), 1e-9)


def _read_sizes(profile: Profile) -> pl.DataFrame:
    rows = profile.table("sizes")
    whole = rows["region"][0] if len(rows) else None
    return rows.filter((pl.col("region") == whole) & (pl.col("kind") == "p2p"))


def _raise_eager_limit(profile: Profile, abi: Abi, environment: Mapping[str, str]) -> Iterator[Remedy]:
    """Yield a larger eager limit, if many messages have sizes that present limits may affect."""
    rows = _read_sizes(profile)
    between = rows.filter(pl.col("bytes").is_between(_SMALLEST, _LARGEST))
    count, every = int(between["messages"].sum()), int(rows["messages"].sum())
    if not every or count < _SHARE * every:
        return
    most = int(between["bytes"].max())  # type: ignore[arg-type]
    limit = 1 << most.bit_length()
    why = f"{percent_text(count, every)} of the messages have {bytes_text(_SMALLEST)} to {bytes_text(most)}"
    if abi == "openmpi":
        # An eager message has to fit into one send.
        kinds = ("eager_limit", "max_send_size") if limit > _LEAST_SEND else ("eager_limit",)
        names = [f"OMPI_MCA_btl_{link}_{kind}" for link in ("vader", "sm", "tcp") for kind in kinds]
    else:
        names = ["UCX_RNDV_THRESH", "MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD"]
    wanted = dict.fromkeys(names, str(limit))
    yield Remedy(f"eager limit of {limit} bytes", why, _select_different(wanted, environment))


def _shorten_fragments(profile: Profile, abi: Abi, environment: Mapping[str, str]) -> Iterator[Remedy]:
    """Yield fragments of long messages, which Open MPI sends whole over TCP by default.

    The go-ahead for a message of the other direction waits behind them, on the same connection.
    """
    share = _share_of_bytes(profile, _LONG)
    if abi == "openmpi" and len(profile.hosts.names) > 1 and share >= _SHARE:
        why = f"{percent_text(share, 1.0)} of the bytes are in messages of {bytes_text(_LONG)} or more"
        wanted = {"OMPI_MCA_btl_tcp_rdma_pipeline_frag_size": str(_FRAGMENT)}
        yield Remedy("long messages over TCP in fragments", why, _select_different(wanted, environment))


def _share_of_bytes(profile: Profile, least: int) -> float:
    """Return the share of the bytes that are in messages of `least` bytes or more; 0 without messages."""
    rows = _read_sizes(profile).with_columns((pl.col("bytes") * pl.col("messages")).alias("volume"))
    long = rows.filter(pl.col("bytes") >= least)
    return float(long["volume"].sum()) / max(float(rows["volume"].sum()), 1.0)


def _use_shm_library(profile: Profile) -> Iterator[Remedy]:
    share = _share_of_bytes(profile, _LARGE)
    if share >= _SHARE:
        why = f"{percent_text(share, 1.0)} of the bytes are in large messages"
        yield Remedy("the shm library", why, around=("shm", "--share-heap", "--quiet", "--"))


def _use_placement(profile: Profile) -> Iterator[Remedy]:
    from haloscope.predict.placement import propose

    if len(profile.hosts.names) < 2:
        return
    try:
        proposal = propose(profile.path)
    except HaloscopeError:  # no Scotch, or missing ranks: other remedies remain
        return
    if proposal.is_worth_it:
        spared = percent_text(proposal.bytes_before - proposal.bytes_after, proposal.bytes_before)
        why = f"{spared} fewer bytes between nodes"
        yield Remedy("placement of ranks", why, around=("place", PROFILE, "--"))
