"""MPICH's selection JSON: the library's own complete tree, changed where rules say so.

The file replaces the whole tree, and one that lacks a collective aborts. The complete tree is in
the library's file: MPICH keeps the text of its defaults there, Debian's 4.0 as the 5.0 wheel.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from haloscope.base.errors import RecorderError, UsageError
from haloscope.predict.tune.tuning_rules import TuningRule, close_rules, counted_bytes

Tree = dict[str, Any]

_TEXT = re.compile(rb'\{"collective=[ -~]+')
# What the tree may compare for a collective: the whole message of all ranks, or a rank's. The
# library's own tree asks the same.
_TOTAL = frozenset({"allgather", "allgatherv", "gather", "reduce_scatter", "reduce_scatter_block", "scatter"})
_SIZED = _TOTAL | {"allreduce", "alltoall", "bcast", "reduce"}
_BOUND = re.compile(r"(comm_size|avg_msg_size|total_msg_size)(<=|<|=)(\w+)")
_FANNED = frozenset({"k_brucks", "k_dissemination", "recexch", "recursive_multiplying", "tree"})
_LEAF = "algorithm="


def embedded_tree(library: Path) -> Tree:
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
        # Two more are those of devices, for some collectives only.
        if any("algorithm=MPIR_" in words for words in _keys(tree)) and "collective=ibcast" in tree:
            return dict(tree)
    raise RecorderError(
        f"{library}: its tree of algorithms is not in the file, as it is in MPICH 4.0 to 5.0: "
        "no rules can be written for it"
    )


def _keys(tree: Mapping[str, Any]) -> Iterator[str]:
    for key, value in tree.items():
        yield key
        yield from _keys(value)


def _function(collective: str, algorithm: str) -> str:
    """Return the key of an algorithm, by the name that the control variables have for it."""
    return f"algorithm=MPIR_{collective.capitalize()}_intra_{algorithm}"


def write_tree(rules: Iterable[TuningRule], complete: Tree) -> Tree:
    """Return the tree with the rules in it: outside of their sizes it decides as before."""
    made: Tree = json.loads(json.dumps(complete))
    complete_rules = close_rules(list(rules))
    for collective in dict.fromkeys(one.collective for one in complete_rules if not one.default):
        key = f"collective={collective}"
        if key not in made:
            raise UsageError(f"{collective}: this MPICH has no such collective to choose for")
        own = made[key]["comm_type=intra"]
        mine = [rule for rule in complete_rules if rule.collective == collective]
        made[key]["comm_type=intra"] = _by_ranks(mine, own)
    return made


def _by_ranks(rules: list[TuningRule], own: Tree) -> Tree:
    tree: Tree = {}
    for ranks in dict.fromkeys(rule.ranks for rule in rules if not rule.default):
        if f"comm_size<={ranks - 1}" not in tree:
            tree[f"comm_size<={ranks - 1}"] = own
        tree[f"comm_size<={ranks}"] = _by_bytes([r for r in rules if r.ranks == ranks], own)
    return {**tree, "comm_size=any": own}


def _by_bytes(rules: list[TuningRule], own: Tree) -> Tree:
    collective = rules[0].collective
    leaves = [own if rule.default else _leaf(rule) for rule in rules]
    if collective not in _SIZED:
        return leaves[0]
    name = "total_msg_size" if collective in _TOTAL else "avg_msg_size"
    ends = [_compared(rule, rule.bytes - 1) for rule in rules[1:]]
    keys = [f"{name}<={end}" for end in ends] + [f"{name}=any"]
    return dict(zip(keys, leaves, strict=True))


def _compared(rule: TuningRule, counted: int) -> int:
    """Return the last byte of a rule as MPICH compares it: alltoall's for one destination, allgatherv's
    of all ranks."""
    if rule.collective == "alltoall":
        return counted // rule.ranks
    return (counted + 1) * rule.ranks - 1 if rule.collective == "allgatherv" else counted


def _leaf(rule: TuningRule) -> Tree:
    return {_function(rule.collective, rule.algorithm): _extras(rule)}


def _extras(rule: TuningRule) -> Tree:
    """Return the parameters that an algorithm must have in the tree: without k some never end."""
    names = ["tree_type=kary"] if rule.algorithm == "tree" else []
    if rule.fanout or rule.algorithm in _FANNED:
        names.append(f"k={rule.fanout or 2}")  # 2 is the default of the control variables
    return {name: {} for name in names}


def canary(tree: Tree, collective: str, ranks: int, size: int) -> Tree:
    """Return the tree with another collective's algorithm where this call must arrive.

    MPICH's functions cannot be watched from outside. It reads such a file, and stops when a call
    gets there: that shows that the call meets the rule; if it goes on, it met another.
    """
    made: Tree = json.loads(json.dumps(tree))
    node = made[f"collective={collective}"]["comm_type=intra"]
    total = size * ranks if collective == "allgatherv" else counted_bytes(collective, ranks, size)
    values = {"comm_size": ranks, "avg_msg_size": size, "total_msg_size": total}
    while True:
        key = next((key for key in node if _holds(key, values)), None)
        if key is None:
            raise UsageError(f"rules: {collective} of {size} bytes on {ranks} ranks meets no rule")
        if any(_LEAF in inner for inner in node[key]):
            other = "exscan" if collective != "exscan" else "scan"
            node[key] = {next(one for one in _keys(tree[f"collective={other}"]) if _LEAF in one): {}}
            return made
        node = node[key]


def _holds(key: str, values: Mapping[str, int]) -> bool:
    """Return whether a condition that this module wrote holds for a call."""
    match = _BOUND.fullmatch(key)
    if match is None:
        return False
    name, relation, bound = match.groups()
    if bound == "any":
        return True
    if not bound.isdigit():
        return False
    return values[name] <= int(bound) if relation == "<=" else values[name] < int(bound)
