"""Arithmetic in specifications: `{16*px},{ranks//2}`, over names that a point has."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

Value = int | float | str

_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "ceil": math.ceil,
    "floor": math.floor,
    "round": round,
    "sqrt": math.sqrt,
    "log2": math.log2,
}
_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_LONGEST = 500
_MOST = 2.0**1000


@lru_cache(4096)
def _parsed(text: str) -> ast.expr:
    if len(text) > _LONGEST:
        raise ValueError(f"an expression has at most {_LONGEST} characters")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"{text!r} is no arithmetic of names and numbers") from None


def evaluate_expression(text: str, names: Mapping[str, Value]) -> Value | bool:
    """Return the value of `text`, such as `nx*ny*ranks`. Raises `ValueError` for what it can't say."""
    try:
        value = _value(_parsed(text), names)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise ValueError(f"{text}: {error}") from None
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    assert isinstance(value, int | float | str)
    return value


def _value(node: ast.AST, names: Mapping[str, Value]) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float | str):
        return node.value
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise ValueError(f"there is no {node.id}; there are {', '.join(sorted(names))}")
        return names[node.id]
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.operand, names))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _bounded(_OPERATORS[type(node.op)], _value(node.left, names), _value(node.right, names))
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPERATORS:
        return _OPERATORS[type(node.ops[0])](_value(node.left, names), _value(node.comparators[0], names))
    if isinstance(node, ast.BoolOp):
        values = [_value(part, names) for part in node.values]
        return all(values) if isinstance(node.op, ast.And) else any(values)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        function = _FUNCTIONS.get(node.func.id)
        if function is None:
            raise ValueError(f"there is no function {node.func.id}; there are {', '.join(_FUNCTIONS)}")
        return function(*(_value(argument, names) for argument in node.args))
    raise ValueError("is no arithmetic of names and numbers")


def _bounded(function: Callable[..., Any], left: Any, right: Any) -> Any:
    if isinstance(left, str) or isinstance(right, str):
        raise ValueError("text is no number")
    value = function(left, right)
    if abs(value) > _MOST:
        raise ValueError("is too large")
    return value


def substitute_expressions(text: str, names: Mapping[str, Value]) -> Value:
    """Return `text` with each `{expression}` in it replaced by its value; `{{` is a brace.

    Text that is one expression alone keeps its kind. Raises `ValueError`.
    """
    whole = _BRACES.fullmatch(text)
    if whole and whole[1] is not None:
        return evaluate_expression(whole[1], names)
    return _BRACES.sub(lambda found: _part(found, names), text)


def _part(found: re.Match[str], names: Mapping[str, Value]) -> str:
    if found[1] is not None:
        return text_of(evaluate_expression(found[1], names))
    if len(found[0]) == 1:
        raise ValueError(f"a {found[0]} has no partner; write {found[0] * 2} for the character itself")
    return found[0][0]


def names_in(text: str) -> Iterator[str]:
    """Yield each name that the expressions of `text` need. Raises `ValueError`."""
    for found in _BRACES.finditer(text):
        if found[1] is not None:
            nodes = ast.walk(_parsed(found[1]))
            yield from (n.id for n in nodes if isinstance(n, ast.Name) and n.id not in _FUNCTIONS)


def text_of(value: Value | bool) -> str:
    """Return a value as it stands in a command."""
    return repr(value) if isinstance(value, float) else str(value)
