"""Public names of a package that are looked up on first use.

`import haloscope` must not wait for Polars and Plotly: a marked program pays for nothing that it
does not use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

__all__ = ["lazily"]


def lazily(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package.

    `homes` has for each public name its module below the package, followed by a colon and the name
    there if it has another one: `{"open": "_profile:open_profile"}`.
    """

    def look_up(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, attribute = homes[name].partition(":")
        try:
            return getattr(import_module(f"{package}.{module}"), attribute or name)
        except ModuleNotFoundError as error:
            raise _missing(error) from None

    def names() -> list[str]:
        return sorted(homes)

    return look_up, names


def _missing(error: ModuleNotFoundError) -> Exception:
    """Return what says how to get the package, if it is one of an extra."""
    from haloscope.base.errors import ComponentError
    from haloscope.base.extras import remedy

    text = remedy(error)
    return ComponentError(text) if text else error
