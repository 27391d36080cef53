"""Open MPI's JSON rules, version 6 (`rule_file_version` 3).

The library's reader, its schema and its converter disagree; this is what the reader takes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from haloscope.base.errors import UsageError
from haloscope.predict.tune._openmpi_text import IDENTIFIERS
from haloscope.predict.tune._rules import DEFAULT, Rule, closed

__all__ = ["read_json", "write_json"]


def write_json(rules: Iterable[Rule]) -> str:
    """The file's text: ranges with both ends, where the first match wins; gaps are the default."""
    complete = closed(list(rules))
    collectives: dict[str, list[dict[str, Any]]] = {}
    for collective in dict.fromkeys(rule.collective for rule in complete):
        mine = [rule for rule in complete if rule.collective == collective]
        for ranks in dict.fromkeys(rule.ranks for rule in mine if not rule.default):
            entry = {
                "comm_size_min": ranks,
                "comm_size_max": ranks,
                "comm_rank_distribution": "any",
                "rules": _messages([rule for rule in mine if rule.ranks == ranks]),
            }
            collectives.setdefault(collective, []).append(entry)
    whole = {"rule_file_version": 3, "module": "tuned", "collectives": collectives}
    return json.dumps(whole, indent=2) + "\n"


def _messages(rules: Sequence[Rule]) -> list[dict[str, Any]]:
    ends = [rule.bytes - 1 for rule in rules[1:]]
    made = []
    for rule, end in zip(rules, [*ends, None], strict=True):
        if rule.default:
            continue
        entry: dict[str, Any] = {
            "msg_size_min": rule.bytes,
            "msg_size_max": "inf" if end is None else end,
            "alg": rule.number or rule.algorithm,
        }
        if rule.segment:
            entry["seg_size"] = rule.segment
        if rule.fanout:
            entry["faninout"] = rule.fanout
        made.append(entry)
    return made


def read_json(text: str, names: Mapping[tuple[str, int], str] | None = None) -> list[Rule]:
    """The rules of a file; `names` gives the library's names of (collective, number)."""
    try:
        whole = json.loads(text)
        if whole["rule_file_version"] != 3 or whole["module"] != "tuned":
            raise UsageError("rules: this is no file of version 3 for the module tuned")
        rules: list[Rule] = []
        for collective, entries in whole["collectives"].items():
            if collective not in IDENTIFIERS:
                raise UsageError(
                    f"rules: {collective} is no collective of Open MPI's: it ignores the whole file"
                )
            for entry in entries:
                rules += _read_entry(collective, entry, names or {})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"rules: not the JSON that Open MPI 6 reads: {error}") from None
    return closed(rules)


def _read_entry(
    collective: str, entry: Mapping[str, Any], names: Mapping[tuple[str, int], str]
) -> list[Rule]:
    ranks, last = entry["comm_size_min"], entry["comm_size_max"]
    rules: dict[int, Rule] = {}
    for item in entry["rules"]:
        low, high, algorithm = item["msg_size_min"], item["msg_size_max"], item["alg"]
        number = algorithm if isinstance(algorithm, int) else 0
        name = names.get((collective, number), str(number)) if number else str(algorithm)
        extras = item.get("seg_size", 0), item.get("faninout", 0)
        rules[low] = Rule(collective, ranks, low, name, number, *extras)
        if high != "inf":
            rules.setdefault(high + 1, Rule(collective, ranks, high + 1))
    if last != "inf":
        return [*rules.values(), Rule(collective, last + 1, 0, DEFAULT)]
    return list(rules.values())
