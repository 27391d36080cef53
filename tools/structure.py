"""Structure of the code: packages, folders, the imports between them, and sizes.

    python tools/structure.py       prints all, and fails on what docs/design.md forbids

It fails on an import against the order of packages, on circles of files or folders, on an import from below
the public front of another package, and on a file name or class name that two Python modules have.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import median
from typing import NamedTuple, TypeVar

CHECKOUT = Path(__file__).resolve().parents[1]
PYTHON = CHECKOUT / "python"
SOURCES = CHECKOUT / "src"
# Each may use those before it; "" is the front, `import haloscope`.
PYTHON_ORDER = ("base", "watch", "profile", "markov", "explain", "predict", "hide", "reproduce", "", "cli")
SOURCE_ORDER = ("interpose", "watch", "explain", "predict", "hide", "fem")
# Modules of `base` are public, each by its own name.
_OPEN = "base"
# Tests may import from below a front where they test a part that has no public name.
_MOST_TESTS = 25
_OUTSIDE = ("tests", "benchmarks", "studies", "tools")
_SUFFIXES = {".cpp", ".hpp", ".h", ".c", ".py", ".f90"}

Arrows = Counter[tuple[str, str]]
_Node = TypeVar("_Node", bound=Hashable)


class Import(NamedTuple):
    """One name that a file imports from Haloscope."""

    file: Path
    line: int
    module: str
    name: str
    is_hidden: bool  # in a function, or for type checkers only

    @property
    def target(self) -> str:
        """The module that is imported, or imported from."""
        named = f"{self.module}.{self.name}"
        return named if named in modules() else self.module


def imports(file: Path) -> list[Import]:
    """Return what a file imports from Haloscope."""
    return imports_in(file.read_text("utf-8"), file)


def imports_in(text: str, file: Path) -> list[Import]:
    """Return what the code `text` of a file imports from Haloscope."""
    found: list[Import] = []

    def visit(node: ast.AST, is_hidden: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ImportFrom) and str(child.module).split(".")[0] == "haloscope":
                module = str(child.module)
                found.extend(Import(file, child.lineno, module, n.name, is_hidden) for n in child.names)
            elif isinstance(child, ast.Import):
                names = [n.name for n in child.names if n.name.split(".")[0] == "haloscope"]
                found.extend(Import(file, child.lineno, name, "", is_hidden) for name in names)
            else:
                visit(child, is_hidden or isinstance(child, ast.FunctionDef) or _is_for_types(child))

    visit(ast.parse(text), False)
    return found


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


@cache
def modules() -> dict[str, Path]:
    """Return the file of each module."""
    files = sorted((PYTHON / "haloscope").rglob("*.py"))
    return {module_of(file): file for file in files}


def module_of(file: Path) -> str:
    """Return the name of the module that a file of a package is."""
    return ".".join(file.relative_to(PYTHON).with_suffix("").parts).removesuffix(".__init__")


def is_front(module: str) -> bool:
    """Return whether a module has the public names of its package or folder."""
    return modules()[module].name == "__init__.py"


def package_of(module: str) -> str:
    """Return the top package of a module, "" for the front."""
    return module.split(".")[1] if "." in module else ""


@cache
def _declared(front: str) -> dict[str, str]:
    return {each.name: each.module for each in imports(modules()[front]) if each.is_hidden}


def home(module: str, name: str) -> str:
    """Return the module that defines a name, which a front may have from elsewhere."""
    while is_front(module) and name in _declared(module):
        module = _declared(module)[name]
    return module


def is_deep(each: Import, package: str | None) -> bool:
    """Return whether an import goes below the front of a package other than `package`.

    `package` is None for code outside of all packages.
    """
    return package_of(each.target) not in (package, _OPEN) and not is_front(each.target)


def is_against(order: Sequence[str], mine: str, theirs: str) -> bool:
    """Return whether a package imports from one that comes later in the order."""
    return order.index(theirs) > order.index(mine)


def uses() -> Iterator[tuple[str, Import]]:
    """Yield each import of a module of ours, without those by which fronts declare public names."""
    for module, file in modules().items():
        for each in imports(file):
            if not (is_front(module) and each.is_hidden):
                yield module, each


def python_arrows() -> Arrows:
    """Return how many names a package imports from another one; those of a front by the front."""
    found = Arrows((package_of(module), package_of(each.target)) for module, each in uses())
    found += Arrows(("", package_of(theirs)) for theirs in _declared("haloscope").values())
    return Arrows({pair: count for pair, count in found.items() if pair[0] != pair[1]})


def includes(root: Path) -> Iterator[tuple[Path, str]]:
    """Yield each file of a tree, with a name that it includes in quotation marks."""
    for file in sorted(root.rglob("*")):
        if file.suffix in {".c", ".cpp", ".h", ".hpp"}:
            for name in re.findall(r'^#\s*include "([^"]+)"', file.read_text("utf-8"), re.MULTILINE):
                yield file, name


def include_arrows() -> Arrows:
    """Return how often a package of `src` includes a header of another one."""
    arrows = Arrows()
    for file, name in includes(SOURCES):
        mine, theirs = file.relative_to(SOURCES).parts[0], name.partition("/")[0]
        if theirs in SOURCE_ORDER and theirs != mine:
            arrows[mine, theirs] += 1
    return arrows


def circles(arrows: Iterable[tuple[_Node, _Node]]) -> list[_Node]:
    """Return the nodes of circles, and those on ways from one circle to another."""
    nexts: dict[_Node, set[_Node]] = defaultdict(set)
    for mine, theirs in arrows:
        nexts[mine].add(theirs)
    # Without those that lead to none in a circle, again and again, from both ends.
    while ends := {node for node, to in nexts.items() if not to & nexts.keys()}:
        for node in ends:
            del nexts[node]
    while begins := nexts.keys() - set().union(*nexts.values()):
        for node in begins:
            del nexts[node]
    return list(nexts)


def layers(arrows: Iterable[tuple[str, str]]) -> int:
    """Return the nodes on the longest way along arrows that have no circle."""
    nexts: Mapping[str, set[str]] = defaultdict(set)
    for mine, theirs in arrows:
        nexts[mine].add(theirs)

    @cache
    def height(node: str) -> int:
        return 1 + max((height(each) for each in nexts.get(node, ())), default=0)

    return max((height(node) for node in list(nexts)), default=0)


def file_arrows() -> set[tuple[str, str]]:
    """Return which modules use which others, in whatever way they import them."""
    pairs = {(module, home(each.target, each.name)) for module, each in uses()}
    return {(mine, theirs) for mine, theirs in pairs if mine != theirs}


def folder_arrows(folder: str, arrows: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the arrows between what is directly in a folder: files and folders."""

    def part(module: str) -> str:
        return module.removeprefix(f"{folder}.").partition(".")[0] if module.startswith(f"{folder}.") else ""

    pairs = {(part(mine), part(theirs)) for mine, theirs in arrows}
    return {(mine, theirs) for mine, theirs in pairs if mine and theirs and mine != theirs}


def classes() -> dict[str, list[str]]:
    """Return the modules that define each public class name which several do."""
    found = defaultdict(list)
    for module, file in modules().items():
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(module)
    return {name: homes for name, homes in sorted(found.items()) if len(homes) > 1}


def _print_sizes() -> None:
    words = ["git", "-C", str(CHECKOUT), "ls-files", "src", "include", "python", "apps"]
    listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    files = [path for line in listed if (path := CHECKOUT / line).suffix in _SUFFIXES and path.is_file()]
    lines = {file: file.read_text("utf-8").count("\n") for file in files}
    print(f"{len(files)} source files, {sum(lines.values())} lines, {len(modules())} Python modules")
    print(f"lines a file: {median(lines.values()):.0f} (median), {max(lines.values())} at most")
    packages = Counter[str]()
    for module, file in modules().items():
        packages[package_of(module) or "front"] += lines.get(file, 0)
    print("lines by package: " + ", ".join(f"{name} {count}" for name, count in packages.most_common()))


def _named(pair: tuple[str, str]) -> str:
    return " > ".join(name or "front" for name in pair)


def _order_faults() -> list[str]:
    """Print the arrows between packages, and return those against the order."""
    bad = []
    for title, arrows, order in (
        ("python", python_arrows(), PYTHON_ORDER),
        ("src", include_arrows(), SOURCE_ORDER),
    ):
        against = [_named(pair) for pair in arrows if is_against(order, *pair)]
        told = ", ".join(f"{_named(pair)} {count}" for pair, count in sorted(arrows.items()))
        print(f"{title}: {len(arrows)} arrows, {layers(arrows) if not against else '?'} layers: {told}")
        bad += [f"against the order: {each}" for each in against]
    return bad


def _circle_faults() -> list[str]:
    arrows = file_arrows()
    bad = [f"circle of files: {module}" for module in circles(arrows)]
    for folder in (module for module in modules() if is_front(module) and module != "haloscope"):
        within = folder_arrows(folder, arrows)
        bad += [f"circle in {folder}: {part}" for part in circles(within)]
        if folder.count(".") == 1 and within:
            parts = len({part for pair in within for part in pair})
            print(f"{folder}: {parts} parts, {len(within)} arrows, {layers(within)} layers")
    return bad


def _front_faults() -> list[str]:
    """Return imports from below fronts, and print how many test files have some."""
    deep = [each for module, each in uses() if is_deep(each, package_of(module))]
    outside = [
        each for root in _OUTSIDE for file in (CHECKOUT / root).rglob("*.py") for each in imports(file)
    ]
    below = [each for each in outside if is_deep(each, None)]
    tests = {each.file for each in below if each.file.is_relative_to(CHECKOUT / "tests")}
    print(f"{len(tests)} test files import from below a front, of {_MOST_TESTS} that may")
    bad = deep + [each for each in below if len(tests) > _MOST_TESTS or each.file not in tests]
    return [
        f"{each.file.relative_to(CHECKOUT)}:{each.line}: below a front: {each.module} {each.name}"
        for each in bad
    ]


def _name_faults() -> list[str]:
    several = classes()
    print(f"{len(several)} class names with several meanings: {' '.join(several)}")
    # A verb's file in the command line is called as the file that does its work.
    names = Counter(file.name for file in modules().values() if file.parent.name != "cli")
    bad = [f"in several folders: {name}" for name, count in names.items() if count > 1 and name[0] != "_"]
    bad += [f"class of several modules: {name}" for name in several]
    return bad


def main() -> int:
    """Print all. Return 1 if something is forbidden."""
    _print_sizes()
    bad = [*_order_faults(), *_circle_faults(), *_front_faults(), *_name_faults()]
    statements = {(each.file, each.line): each.is_hidden for _, each in uses()}
    hidden = sum(statements.values())
    print(f"{hidden} of {len(statements)} imports are hidden: {100 * hidden / len(statements):.1f} %")
    print(*(bad or ["nothing forbidden"]), sep="\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
