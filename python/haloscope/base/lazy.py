"""Public names of a package that are looked up on first use.

`import haloscope` must not wait for Polars and Plotly: a program with markers needs neither.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

_BEGIN = "\nif TYPE_CHECKING:\n"


def lazily(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package whose public names are declared in `file`.

    The block `if TYPE_CHECKING` there has one line for each name, `from MODULE import NAME as NAME`, which
    type checkers read as well. It is read when the first name is looked up.
    """
    homes: dict[str, str] = {}

    def read_declared() -> dict[str, str]:
        if not homes:
            homes.update(_homes(file))
        return homes

    def look_up(name: str) -> object:
        if name == "__all__":
            return sorted(read_declared())
        # Importers look up `__path__` and similar names in every module.
        if name.startswith("__") or name not in read_declared():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return getattr(import_module(homes[name]), name)
        except ModuleNotFoundError as error:
            raise _missing(error) from None

    return look_up, lambda: sorted(read_declared())


def _homes(file: str) -> dict[str, str]:
    """Return the module of each name. Does not use `ast`, whose import takes longer than all of this."""
    with open(file, encoding="utf-8") as opened:
        block = opened.read().partition(_BEGIN)[2]
    homes = {}
    for line in block.splitlines():
        if line and not line.startswith(" "):
            break
        words = line.split()
        if words[:1] == ["from"]:
            homes[words[5]] = words[1]
    return homes


def _missing(error: ModuleNotFoundError) -> Exception:
    """Return an error with the command that installs the package, if an extra has it."""
    from haloscope.base.errors import ComponentError
    from haloscope.base.extras import remedy

    text = remedy(error)
    return ComponentError(text) if text else error
