"""Remedies of the launch: without its settings, and other use of the cores."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from haloscope.base.units import noun_text
from haloscope.hide.improve.remedy import SETTING_OPTIONS, Remedy
from haloscope.hide.improve.situation import SHARE, Situation

# Settings that may cost time. Settings that select networks and hosts are not included.
_SETTING = re.compile(
    r"((OMPI|PRTE)_MCA_|)"
    r"(coll_\w+|btl_\w+_(eager_limit|rndv_eager_limit|max_send_size|flags|free_list_\w+|rdma_pipeline_\w+)|pml_\w+|osc\w*|"
    r"mpi_yield_when_idle|mpi_leave_pinned\w*|opal_progress_\w+|(hwloc|rmaps)_base_(binding_policy|cpu_list|cpu_set)|"
    r"hwloc_default_binding_policy|mpi_preconnect_mpi|btl_\w+_use_cma|btl_\w+_single_copy_mechanism)"
    r"|MPIR_CVAR_(?!CH4_NETMOD|OFI_USE_PROVIDER)\w+|UCX_RNDV\w*|UCX_ZCOPY_THRESH|I_MPI_(ADJUST|EAGER|SHM|WAIT|PIN)\w*"
    r"|GLIBC_TUNABLES|MALLOC_\w+_"
)
_ENVIRONMENT = re.compile(r"(OMPI|PRTE)_MCA_|MPIR_CVAR_|UCX_|I_MPI_|GLIBC_|MALLOC_")
_BINDING = ("bind-to", "map-by", "rank-by", "cpu-list", "cpu-set")
_PLACES = ("shared_cpu", "no_core", "slow_place", "imbalance", "scattered_partners")
_CROWDED = ("shared_cpu", "no_core")
_FREE = {"OMPI_MCA_hwloc_base_binding_policy": "none", "PRTE_MCA_hwloc_default_binding_policy": "none"}
_BOUND = {"OMPI_MCA_hwloc_base_binding_policy": "core", "PRTE_MCA_hwloc_default_binding_policy": "core"}
_BY_NODE = {"OMPI_MCA_rmaps_base_mapping_policy": "node", "PRTE_MCA_rmaps_default_mapping_policy": "node"}


def drop_settings(run: Situation) -> Iterator[Remedy]:
    """Yield one remedy per setting of the environment or launch command: the run without it."""
    given = [n for n in sorted(run.environment) if _ENVIRONMENT.match(n) and _SETTING.fullmatch(n)]
    given.sort(key=lambda name: not name.endswith("binding_policy"))
    # Versions 4 and 5 of Open MPI have different names of the binding.
    for _, same in groupby(given, lambda name: name.endswith("binding_policy") or name):
        names = list(same)
        text = " and ".join(f"{name}={run.environment[name]}" for name in names)
        rules = _PLACES if "binding" in text or "cpu" in text else ()
        yield Remedy(f"without {text}", "the environment sets it", dict.fromkeys(names), rules=rules)
    words = run.launch.options
    for at, word in enumerate(words):
        option = word.lstrip("-")
        if word[:1] != "-":
            continue
        two = words[at : at + 3]
        if option in SETTING_OPTIONS and len(two) == 3 and _SETTING.fullmatch(two[1]):
            rules = _PLACES if "binding" in two[1] or "cpu" in two[1] else ()
            yield Remedy(
                f"without {' '.join(two)}", "the launch command sets it", without=(two,), rules=rules
            )
        elif option in _BINDING and len(two) > 1:
            name = f"without {' '.join(two[:2])}"
            yield Remedy(name, "the launch command binds ranks", without=(two[:2],), rules=_PLACES)


def use_cores_otherwise(run: Situation) -> Iterator[Remedy]:
    """Yield other waiting for nodes with more ranks than cores, other binding and mapping for others."""
    if run.is_crowded:
        yield from _relieve_crowded_nodes(run)
        return
    if any(word.lstrip("-") in _BINDING for word in run.launch.options):
        return
    why = f"ranks may move between {noun_text(run.cores, 'core')}"
    cpus = run.profile.frame("processes", ["cpus"])["cpus"].drop_nulls()
    if any("-" in text or "," in text for text in cpus):
        variables = _BOUND if run.abi == "openmpi" else {}
        options = () if run.abi == "openmpi" or run.launch.kind == "srun" else ("-bind-to", "core")
        yield Remedy("a core per rank", why, variables, options=options, rules=_PLACES)
    if run.has_nodes and run.abi == "openmpi" and run.share("p2p") + run.share("coll") >= SHARE:
        why = "messages go between nodes, and consecutive ranks are on one node"
        yield Remedy("consecutive ranks on different nodes", why, _BY_NODE, rules=_PLACES)


def _relieve_crowded_nodes(run: Situation) -> Iterator[Remedy]:
    why = f"{noun_text(run.ranks_per_node, 'rank')} share {noun_text(run.cores, 'core')}"
    if run.abi == "openmpi":
        yielding = {"OMPI_MCA_mpi_yield_when_idle": "1"}
        yield Remedy("idle ranks yield", why, yielding, rules=_CROWDED)
        yield Remedy("ranks are bound to no core", why, _FREE, rules=_CROWDED)
    else:
        throttle = "MPIR_CVAR_CH4_PROGRESS_THROTTLE"
        slower = {throttle: "1", f"{throttle}_NO_PROGRESS_COUNT": "64"}
        yield Remedy("idle ranks poll less", why, slower, rules=_CROWDED)
