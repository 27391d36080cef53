"""Structure of the code: packages, folders, the imports between them, and sizes.

`python tools/structure.py` prints all of them, and fails on what docs/design.md forbids.
It fails on an import against the order of packages, and on a cycle of files or folders.
It fails on an import from below the public API of another package.
It fails on a file name or class name of two Python modules, and on a C++ namespace that is named after a
folder elsewhere.
It fails on C++ in programs that has decimals or kinds of letters by the program's locale.
It fails on C++ in programs that writes files without the guard against signals.
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
_WITHOUT_FRONT = "base"
# Tests may import from below a front where they test a part that has no public name.
_MOST_TESTS = 25
# What a program loads has decimals by interpose/decimal.hpp, kinds of letters by interpose/letters.hpp.
_IN_PROGRAMS = ("src/interpose", "src/watch", "src/hide", "include")
_BY_LOCALE = re.compile(
    r'"[^"]*%[-+ #0-9.*]*[lL]?[aefgAEFG](?![a-z])[^"]*"|\b(strto|ato|sto)(d|f|ld)\('
    r"|\b(is(alnum|alpha|blank|digit|graph|lower|print|punct|space|upper|xdigit)|to(lower|upper)|strn?casecmp)\("
)
# … and files by interpose/files.hpp; src/watch/live is programs of our own.
_UNGUARDED = re.compile(
    r"(?<!\w)::write\(|\bwrite\(STD|\b(pwritev?|ftruncate|(posix_)?fallocate|dprintf|fopen)\(|\bofstream\b"
)
_GUARDED = ("src/interpose/files.hpp", "src/watch/live/")
_OUTSIDE = ("tests", "benchmarks", "studies", "tools")
_SUFFIXES = {".cpp", ".hpp", ".h", ".c", ".py", ".f90"}

Edges = Counter[tuple[str, str]]
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


def find_definition(module: str, name: str) -> str:
    """Return the module that defines a name, which a front may have from elsewhere."""
    while is_front(module) and name in _declared(module):
        module = _declared(module)[name]
    return module


def is_deep(each: Import, package: str | None) -> bool:
    """Return whether an import goes below the front of a package other than `package`.

    `package` is None for code outside of all packages.
    """
    return package_of(each.target) not in (package, _WITHOUT_FRONT) and not is_front(each.target)


def is_against(order: Sequence[str], source: str, target: str) -> bool:
    """Return whether a package imports from one that comes later in the order."""
    return order.index(target) > order.index(source)


def find_imports() -> Iterator[tuple[str, Import]]:
    """Yield each import of a module of ours, without those by which fronts declare public names."""
    for module, file in modules().items():
        for each in imports(file):
            if not (is_front(module) and each.is_hidden):
                yield module, each


def package_imports() -> Edges:
    """Return how many names a package imports from other packages; an `__init__` counts for its package."""
    found = Edges((package_of(module), package_of(each.target)) for module, each in find_imports())
    found += Edges(("", package_of(target)) for target in _declared("haloscope").values())
    return Edges({pair: count for pair, count in found.items() if pair[0] != pair[1]})


def includes(root: Path) -> Iterator[tuple[Path, str]]:
    """Yield each file of a tree, with a name that it includes in quotation marks."""
    for file in sorted(root.rglob("*")):
        if file.suffix in {".c", ".cpp", ".h", ".hpp"}:
            for name in re.findall(r'^#\s*include "([^"]+)"', file.read_text("utf-8"), re.MULTILINE):
                yield file, name


def package_includes() -> Edges:
    """Return how often a package of `src` includes headers of other packages."""
    edges = Edges()
    for file, name in includes(SOURCES):
        source, target = file.relative_to(SOURCES).parts[0], name.partition("/")[0]
        if target in SOURCE_ORDER and target != source:
            edges[source, target] += 1
    return edges


def namespaces(file: Path, text: str) -> list[str]:
    """Return the namespaces that a file of `src` opens although they are named after a folder elsewhere."""
    folders = {folder.name for folder in SOURCES.rglob("*") if folder.is_dir()}
    home = {"haloscope", *file.relative_to(SOURCES).parts[:-1]}
    opened = re.findall(r"^(?:inline )?namespace ([\w:]+) \{", text, re.MULTILINE)
    return [name for name in opened if any(part in folders - home for part in name.split("::"))]


def find_cycles(edges: Iterable[tuple[_Node, _Node]]) -> list[_Node]:
    """Return the nodes of cycles, and those on paths from one cycle to another."""
    successors: dict[_Node, set[_Node]] = defaultdict(set)
    for source, target in edges:
        successors[source].add(target)
    # Without those that lead to no cycle, again and again, from both ends.
    while ends := {node for node, to in successors.items() if not to & successors.keys()}:
        for node in ends:
            del successors[node]
    while begins := successors.keys() - set().union(*successors.values()):
        for node in begins:
            del successors[node]
    return list(successors)


def layers(edges: Iterable[tuple[str, str]]) -> int:
    """Return the nodes on the longest path along edges that have no cycle."""
    successors: Mapping[str, set[str]] = defaultdict(set)
    for source, target in edges:
        successors[source].add(target)

    @cache
    def height(node: str) -> int:
        return 1 + max((height(each) for each in successors.get(node, ())), default=0)

    return max((height(node) for node in list(successors)), default=0)


def module_imports() -> set[tuple[str, str]]:
    """Return which modules use which others, hidden imports included."""
    pairs = {(module, find_definition(each.target, each.name)) for module, each in find_imports()}
    return {(source, target) for source, target in pairs if source != target}


def folder_imports(folder: str, edges: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the edges between the files and folders that are directly in a folder."""

    def part(module: str) -> str:
        return module.removeprefix(f"{folder}.").partition(".")[0] if module.startswith(f"{folder}.") else ""

    pairs = {(part(source), part(target)) for source, target in edges}
    return {(source, target) for source, target in pairs if source and target and source != target}


def classes() -> dict[str, list[str]]:
    """Return the modules that define each public class name which several do."""
    found = defaultdict(list)
    for module, file in modules().items():
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(module)
    return {name: places for name, places in sorted(found.items()) if len(places) > 1}


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


def _format_pair(pair: tuple[str, str]) -> str:
    return " > ".join(name or "front" for name in pair)


def _order_faults() -> list[str]:
    """Print the edges between packages, and return those against the order."""
    bad = []
    for title, edges, order in (
        ("python", package_imports(), PYTHON_ORDER),
        ("src", package_includes(), SOURCE_ORDER),
    ):
        against = [_format_pair(pair) for pair in edges if is_against(order, *pair)]
        counts = ", ".join(f"{_format_pair(pair)} {count}" for pair, count in sorted(edges.items()))
        print(f"{title}: {len(edges)} edges, {layers(edges) if not against else '?'} layers: {counts}")
        bad += [f"against the order: {each}" for each in against]
    return bad


def _cycle_faults() -> list[str]:
    edges = module_imports()
    bad = [f"cycle of files: {module}" for module in find_cycles(edges)]
    for folder in (module for module in modules() if is_front(module) and module != "haloscope"):
        within = folder_imports(folder, edges)
        bad += [f"cycle in {folder}: {part}" for part in find_cycles(within)]
        if folder.count(".") == 1 and within:
            parts = len({part for pair in within for part in pair})
            print(f"{folder}: {parts} parts, {len(within)} edges, {layers(within)} layers")
    return bad


def _front_faults() -> list[str]:
    """Return imports from below fronts, and print how many test files have some."""
    too_deep = [each for module, each in find_imports() if is_deep(each, package_of(module))]
    outside = [
        each for root in _OUTSIDE for file in (CHECKOUT / root).rglob("*.py") for each in imports(file)
    ]
    below = [each for each in outside if is_deep(each, None)]
    tests = {each.file for each in below if each.file.is_relative_to(CHECKOUT / "tests")}
    print(f"{len(tests)} test files import from below a front, of {_MOST_TESTS} that may")
    bad = too_deep + [each for each in below if len(tests) > _MOST_TESTS or each.file not in tests]
    return [
        f"{each.file.relative_to(CHECKOUT)}:{each.line}: below a front: {each.module} {each.name}"
        for each in bad
    ]


def _namespace_faults() -> list[str]:
    files = [file for file in sorted(SOURCES.rglob("*")) if file.suffix in {".cpp", ".hpp"}]
    return [
        f"{file.relative_to(CHECKOUT)}: namespace of a different folder: {name}"
        for file in files
        for name in namespaces(file, file.read_text("utf-8"))
    ]


def _program_faults() -> list[str]:
    files = [file for folder in _IN_PROGRAMS for file in sorted((CHECKOUT / folder).rglob("*.*"))]
    lines = [
        (str(file.relative_to(CHECKOUT)), number, line.partition("//")[0])
        for file in files
        if file.suffix in _SUFFIXES - {".py", ".f90"}
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
    ]
    return [
        f"{file}:{number}: depends on the program's locale: use interpose/decimal.hpp or letters.hpp"
        for file, number, line in lines
        if _BY_LOCALE.search(line)
    ] + [
        f"{file}:{number}: may end the program by a signal: use interpose/files.hpp"
        for file, number, line in lines
        if _UNGUARDED.search(line) and not file.startswith(_GUARDED)
    ]


def _name_faults() -> list[str]:
    repeated = classes()
    print(f"{len(repeated)} class names with several meanings: {' '.join(repeated)}")
    # A verb's file in the command line is called as the file that does its work.
    names = Counter(file.name for file in modules().values() if file.parent.name != "cli")
    bad = [f"in several folders: {name}" for name, count in names.items() if count > 1 and name[0] != "_"]
    bad += [f"class of several modules: {name}" for name in repeated]
    return bad


def main() -> int:
    """Print all. Return 1 if something is forbidden."""
    _print_sizes()
    bad = [*_order_faults(), *_cycle_faults(), *_front_faults(), *_name_faults(), *_namespace_faults()]
    bad += _program_faults()
    statements = {(each.file, each.line): each.is_hidden for _, each in find_imports()}
    hidden = sum(statements.values())
    print(f"{hidden} of {len(statements)} imports are hidden: {100 * hidden / len(statements):.1f} %")
    print(*(bad or ["nothing forbidden"]), sep="\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
