"""MPICH's selection JSON: the complete tree of the library with changes by rules.

The file replaces the whole tree, and MPICH aborts if a collective is missing. The complete tree is stored as
text in the library's file, in Debian's 4.0 and in the 5.0 wheel.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from haloscope.base.errors import RecorderError, UsageError
from haloscope.base.texts import parse_whole
from haloscope.base.units import noun_text
from haloscope.predict.tune.tuning_rules import TuningRule, close_rules, count_bytes

Tree = dict[str, Any]

_TEXT = re.compile(rb'\{"collective=[ -~]+')
# Collectives whose conditions compare the total message of all ranks; the others compare that of one rank.
# The library's tree does the same.
_TOTAL = frozenset({"allgather", "allgatherv", "gather", "reduce_scatter", "reduce_scatter_block", "scatter"})
_SIZED = _TOTAL | {"allreduce", "alltoall", "bcast", "reduce"}
_BOUND = re.compile(r"(comm_size|avg_msg_size|total_msg_size)(<=|<|=)(\w+)")
_FANNED = frozenset({"k_brucks", "k_dissemination", "recexch", "recursive_multiplying", "tree"})
_LEAF = "algorithm="


def read_embedded_tree(library: Path) -> Tree:
    """Return the complete tree of an MPICH library, from its file."""
    try:
        content = library.read_bytes()
    except OSError as error:
        raise RecorderError(f"{library}: cannot be read ({error.strerror})") from None
    for match in _TEXT.finditer(content):
        try:
            tree = json.loads(match.group())
        except ValueError:
            continue
        # Two other trees are for devices, with some collectives only.
        if any("algorithm=MPIR_" in words for words in _iterate_keys(tree)) and "collective=ibcast" in tree:
            return dict(tree)
    raise RecorderError(
        f"{library}: its file has no tree of algorithms as in MPICH 4.0 to 5.0: "
        "no rules can be written for it"
    )


def _iterate_keys(tree: Mapping[str, Any]) -> Iterator[str]:
    for key, value in tree.items():
        yield key
        yield from _iterate_keys(value)


def _function_key(collective: str, algorithm: str) -> str:
    """Return the key of an algorithm from its name in the control variables."""
    return f"algorithm=MPIR_{collective.capitalize()}_intra_{algorithm}"


def write_tree(rules: Iterable[TuningRule], complete: Tree) -> Tree:
    """Return the tree with the rules. For other sizes its decisions are unchanged."""
    tree: Tree = json.loads(json.dumps(complete))
    complete_rules = close_rules(list(rules))
    for collective in dict.fromkeys(entry.collective for entry in complete_rules if not entry.is_default):
        key = f"collective={collective}"
        if key not in tree:
            raise UsageError(f"{collective}: this MPICH has no algorithms of this collective to choose from")
        own = tree[key]["comm_type=intra"]
        mine = [rule for rule in complete_rules if rule.collective == collective]
        tree[key]["comm_type=intra"] = _branch_by_ranks(mine, own)
    return tree


def _branch_by_ranks(rules: list[TuningRule], own: Tree) -> Tree:
    tree: Tree = {}
    for ranks in dict.fromkeys(rule.ranks for rule in rules if not rule.is_default):
        if f"comm_size<={ranks - 1}" not in tree:
            tree[f"comm_size<={ranks - 1}"] = own
        tree[f"comm_size<={ranks}"] = _branch_by_bytes([r for r in rules if r.ranks == ranks], own)
    return {**tree, "comm_size=any": own}


def _branch_by_bytes(rules: list[TuningRule], own: Tree) -> Tree:
    collective = rules[0].collective
    leaves = [
        own if r.is_default else {_function_key(r.collective, r.algorithm): _make_extras(r)} for r in rules
    ]
    if collective not in _SIZED:
        return leaves[0]
    name = "total_msg_size" if collective in _TOTAL else "avg_msg_size"
    ends = [_compared_bytes(rule, rule.bytes - 1) for rule in rules[1:]]
    keys = [f"{name}<={end}" for end in ends] + [f"{name}=any"]
    return dict(zip(keys, leaves, strict=True))


def _compared_bytes(rule: TuningRule, counted: int) -> int:
    """Return the last byte of a rule as MPICH compares it.

    It is per destination for alltoall, and over all ranks for allgatherv."""
    if rule.collective == "alltoall":
        return counted // rule.ranks
    return (counted + 1) * rule.ranks - 1 if rule.collective == "allgatherv" else counted


def _make_extras(rule: TuningRule) -> Tree:
    """Return the parameters that an algorithm needs in the tree: without k some never end."""
    names = ["tree_type=kary"] if rule.algorithm == "tree" else []
    if rule.fanout or rule.algorithm in _FANNED:
        names.append(f"k={rule.fanout or 2}")  # 2 is the default of the control variables
    return {name: {} for name in names}


def break_rule(tree: Tree, collective: str, ranks: int, size: int) -> Tree:
    """Return the tree with an algorithm of a different collective at the leaf of this call.

    The functions of MPICH cannot be observed. It accepts such a file, and aborts if a call reaches the leaf,
    which shows that the call matches the rule.
    """
    broken: Tree = json.loads(json.dumps(tree))
    node = broken[f"collective={collective}"]["comm_type=intra"]
    total = size * ranks if collective == "allgatherv" else count_bytes(collective, ranks, size)
    values = {"comm_size": ranks, "avg_msg_size": size, "total_msg_size": total}
    while True:
        key = next((key for key in node if _holds(key, values)), None)
        if key is None:
            raise UsageError(
                f"rules: {collective} of {noun_text(size, 'byte')} on {noun_text(ranks, 'rank')} matches no"
                " rule"
            )
        if any(_LEAF in inner for inner in node[key]):
            other = "exscan" if collective != "exscan" else "scan"
            node[key] = {
                next(name for name in _iterate_keys(tree[f"collective={other}"]) if _LEAF in name): {}
            }
            return broken
        node = node[key]


def _holds(key: str, values: Mapping[str, int]) -> bool:
    """Return whether a condition of this module holds for a call."""
    match = _BOUND.fullmatch(key)
    if match is None:
        return False
    name, relation, bound = match.groups()
    if bound == "any":
        return True
    limit = parse_whole(bound)
    if limit is None:
        return False
    return values[name] <= limit if relation == "<=" else values[name] < limit
