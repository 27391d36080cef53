"""Arithmetic in specifications, such as `{16*px},{ranks//2}`, with the names of a point."""

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
def _parse(text: str) -> ast.expr:
    if len(text) > _LONGEST:
        raise ValueError(f"an expression has at most {_LONGEST} characters")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"{text!r} is not arithmetic of names and numbers") from None


def evaluate_expression(text: str, names: Mapping[str, Value]) -> Value | bool:
    """Return the value of an expression such as `nx*ny*ranks`.

    Raises:
        ValueError: The expression is invalid.
    """
    try:
        value = _evaluate(_parse(text), names)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise ValueError(f"{text}: {error}") from None
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    assert isinstance(value, int | float | str)
    return value


def _evaluate(node: ast.AST, names: Mapping[str, Value]) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float | str):
        return node.value
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise ValueError(f"{node.id} does not exist; choose from {', '.join(sorted(names))}")
        return names[node.id]
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_evaluate(node.operand, names))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _apply(_OPERATORS[type(node.op)], _evaluate(node.left, names), _evaluate(node.right, names))
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPERATORS:
        return _OPERATORS[type(node.ops[0])](
            _evaluate(node.left, names), _evaluate(node.comparators[0], names)
        )
    if isinstance(node, ast.BoolOp):
        values = [_evaluate(part, names) for part in node.values]
        return all(values) if isinstance(node.op, ast.And) else any(values)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        function = _FUNCTIONS.get(node.func.id)
        if function is None:
            raise ValueError(f"function {node.func.id} does not exist; choose from {', '.join(_FUNCTIONS)}")
        return function(*(_evaluate(argument, names) for argument in node.args))
    raise ValueError("not arithmetic of names and numbers")


def _apply(function: Callable[..., Any], left: Any, right: Any) -> Any:
    if isinstance(left, str) or isinstance(right, str):
        raise ValueError("text is not a number")
    value = function(left, right)
    if abs(value) > _MOST:
        raise ValueError("too large")
    return value


def substitute_expressions(text: str, names: Mapping[str, Value]) -> Value:
    """Return `text` with each `{expression}` replaced by its value; `{{` is a brace.

    A text that is a single expression keeps its type.

    Raises:
        ValueError: An expression is invalid.
    """
    whole = _BRACES.fullmatch(text)
    if whole and whole[1] is not None:
        return evaluate_expression(whole[1], names)
    return _BRACES.sub(lambda found: _replace_part(found, names), text)


def _replace_part(found: re.Match[str], names: Mapping[str, Value]) -> str:
    if found[1] is not None:
        return format_value(evaluate_expression(found[1], names))
    if len(found[0]) == 1:
        raise ValueError(f"a {found[0]} is unmatched; write {found[0] * 2} for the character")
    return found[0][0]


def find_names(text: str) -> Iterator[str]:
    """Yield each name in the expressions of `text`.

    Raises:
        ValueError: An expression is invalid.
    """
    for found in _BRACES.finditer(text):
        if found[1] is not None:
            nodes = ast.walk(_parse(found[1]))
            yield from (n.id for n in nodes if isinstance(n, ast.Name) and n.id not in _FUNCTIONS)


def format_value(value: Value | bool) -> str:
    """Return the text of a value in a command."""
    return repr(value) if isinstance(value, float) else str(value)
