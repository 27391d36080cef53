"""Reads Caliper's .cali: nodes, and records of regions that refer to them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from haloscope.profile.store.framing import DamageError

# Nodes that no file defines: attributes of attributes, below their types.
_NAME, _TYPE, _PROPERTIES = 8, 9, 10
_KNOWN = {_NAME: "cali.attribute.name", _TYPE: "cali.attribute.type", _PROPERTIES: "cali.attribute.prop"}
_NESTED = 256
_FIELD = re.compile(r"((?:[^\\,=]|\\.)*)([,=]|$)", re.DOTALL)
# Nodes on the ways of all records to the root: common parts count each time, so a small file may have many.
_ALWAYS_FINE, _MOST_PER_CHARACTER = 1 << 18, 2


@dataclass(frozen=True)
class CaliRecord:
    """A region, as attribute and value from the outermost one inwards, and values by attribute.

    `labels` are values of attributes that do not nest, such as `mpi.rank`.
    """

    path: tuple[tuple[str, str], ...]
    values: Mapping[str, str]
    labels: Mapping[str, str]


@dataclass
class CaliFile:
    """All records of a file, its information on the run, and the aliases of attributes.

    `left_out` counts lines that could not be read, or that refer to something that the file does not define.
    """

    records: list[CaliRecord] = field(default_factory=list)
    run: dict[str, str] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    left_out: int = 0


@dataclass(frozen=True)
class _Node:
    attribute: int
    value: str
    parent: int


class _Nodes:
    """The nodes of a file by number. `left` is how many may still be visited."""

    def __init__(self, left: int) -> None:
        self.nodes: dict[int, _Node] = {}
        self.left = left
        self._is_nested: dict[int, bool] = {}

    def name(self, attribute: int) -> str:
        """Return the name of an attribute. Raises `KeyError` if it is not defined."""
        if attribute in _KNOWN:
            return _KNOWN[attribute]
        node = self.nodes[attribute]
        if node.attribute != _NAME:
            raise KeyError(attribute)
        return node.value

    def find_path(self, number: int) -> list[_Node]:
        """Return the nodes from the outermost one to this one.

        Raises `KeyError` if one is missing, and `DamageError` if there are too many for the file.
        """
        found: list[_Node] = []
        while number >= 0 and number not in self._types():
            node = self.nodes[number]
            found.append(node)
            number = node.parent
            self.left -= 1
            if self.left < 0:
                raise DamageError("its regions are nested too deeply for a file of its size")
        return found[::-1]

    @staticmethod
    def _types() -> range:
        return range(8)

    def is_nested(self, attribute: int) -> bool:
        """Return whether values of an attribute are regions."""
        if attribute not in self._is_nested:
            above = self.find_path(attribute)[:-1]
            flags = next((node.value for node in above[::-1] if node.attribute == _PROPERTIES), "0")
            self._is_nested[attribute] = flags.isdecimal() and bool(int(flags) & _NESTED)
        return self._is_nested[attribute]


def parse_cali(text: str) -> CaliFile:
    """Return the content of a file, with a count of unreadable lines.

    Raises `DamageError` if all are, or if its regions are nested too deeply.
    """
    found, nodes = CaliFile(), _Nodes(_ALWAYS_FINE + _MOST_PER_CHARACTER * len(text))
    for line in text.split("\n"):
        if line.startswith("__rec="):
            try:
                _take(found, nodes, _fields(line))
            except (KeyError, ValueError, IndexError):
                found.left_out += 1
    if not found.records and not found.run:
        raise DamageError("it has no records")
    for number, node in nodes.nodes.items():
        if node.attribute == _NAME:
            _alias(found, nodes, number, node.value)
    return found


def _alias(found: CaliFile, nodes: _Nodes, number: int, name: str) -> None:
    try:
        above = nodes.find_path(number)[:-1]
        alias = next((n.value for n in above[::-1] if nodes.name(n.attribute) == "attribute.alias"), None)
    except KeyError:
        return
    if alias is not None:
        found.aliases[name] = alias


def _fields(line: str) -> dict[str, list[str]]:
    """Return the lists of values by key: `key=value=value,key=value`, with backslashes before marks."""
    fields: dict[str, list[str]] = {}
    words: list[str] = []
    for word, mark in _FIELD.findall(line.rstrip("\r")):
        words.append(_plain(word))
        if mark != "=":
            if words[0]:
                fields.setdefault(words[0], words[1:])
            words = []
            if not mark:
                break
    return fields


def _plain(word: str) -> str:
    return (
        re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], word) if "\\" in word else word
    )


def _take(found: CaliFile, nodes: _Nodes, fields: Mapping[str, Sequence[str]]) -> None:
    """Add a line. Raises `KeyError`, `ValueError` and `IndexError` if it is invalid."""
    kind = fields["__rec"][0]
    if kind == "node":
        parent = int(fields["parent"][0]) if fields.get("parent") else -1
        value = "=".join(fields.get("data", [""]))
        nodes.nodes[int(fields["id"][0])] = _Node(int(fields["attr"][0]), value, parent)
    elif kind == "ctx":
        found.records.append(_record(nodes, fields))
    elif kind == "globals":
        for node in _find_nodes(nodes, fields):
            found.run[nodes.name(node.attribute)] = node.value
        found.run.update(_values(nodes, fields))


def _find_nodes(nodes: _Nodes, fields: Mapping[str, Sequence[str]]) -> list[_Node]:
    return [node for number in fields.get("ref", ()) for node in nodes.find_path(int(number))]


def _values(nodes: _Nodes, fields: Mapping[str, Sequence[str]]) -> dict[str, str]:
    attributes, values = fields.get("attr", ()), fields.get("data", ())
    if len(attributes) != len(values):
        raise ValueError(attributes)
    return {nodes.name(int(number)): value for number, value in zip(attributes, values, strict=True)}


def _record(nodes: _Nodes, fields: Mapping[str, Sequence[str]]) -> CaliRecord:
    path, labels = [], {}
    for node in _find_nodes(nodes, fields):
        name = nodes.name(node.attribute)
        if nodes.is_nested(node.attribute):
            path.append((name, node.value))
        else:
            labels[name] = node.value
    return CaliRecord(tuple(path), _values(nodes, fields), labels)
