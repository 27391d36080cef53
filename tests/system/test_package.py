"""The package as it is installed, and the recipes that install it."""

from __future__ import annotations

import ast
import re
import shutil
import sys
from importlib import import_module
from pathlib import Path

import pytest
import yaml

import haloscope
from haloscope.base import paths
from haloscope.base.extras import extras, remedy
from haloscope.base.version import own_version
from support.missing import missing
from support.mpi import CHECKOUT
from support.processes import run_program

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_PYPROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
PROJECT, BUILD_SYSTEM = _PYPROJECT["project"], _PYPROJECT["build-system"]
SPACK = CHECKOUT / "packaging/spack/spack_repo/haloscope/packages"
STUDIES = sorted(path.parent.name for path in CHECKOUT.glob("studies/*/study.toml"))


def test_every_public_name_exists() -> None:
    root = Path(haloscope.__path__[0])
    folders = [path.parent.relative_to(root.parent) for path in root.rglob("__init__.py")]
    assert len(folders) > 8
    for folder in folders:
        module = import_module(".".join(folder.parts))
        names = getattr(module, "__all__", [])
        assert [name for name in names if getattr(module, name, None) is None] == [], folder
        assert set(names) - {"__version__"} <= set(dir(module)), folder


def test_importing_loads_no_table_library() -> None:
    script = "import haloscope, sys; print({'numpy', 'polars', 'plotly'} & set(sys.modules))"
    assert run_program([sys.executable, "-c", script]).stdout.strip() == "set()"


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'haloscope' has no attribute 'oepn'"):
        haloscope.oepn  # type: ignore[attr-defined]  # noqa: B018 - the access is what fails


def test_missing_sources_are_named() -> None:
    with pytest.raises(FileNotFoundError, match=r"no-such-room.*git status"):
        paths.source("src", "no-such-room")


def test_extras_are_what_is_declared() -> None:
    declared = PROJECT["optional-dependencies"]
    names = {re.split("[><=]", word)[0]: extra for extra, words in declared.items() for word in words}
    assert names.pop(f"haloscope[{','.join(sorted(declared.keys() - {'all'}))}]") == "all"
    assert extras() == {package.removesuffix("-python"): extra for package, extra in names.items()}
    assert (
        remedy(ModuleNotFoundError(name="scipy.stats"))
        == "this needs scipy: pip install 'haloscope[statistics]'"
    )
    assert remedy(ModuleNotFoundError(name="numpy")) is None


def test_the_citation_has_this_version_and_all_five_papers() -> None:
    cited = yaml.safe_load((CHECKOUT / "CITATION.cff").read_text())
    assert cited["version"] == PROJECT["version"] == own_version()
    assert cited["license"] == PROJECT["license"]
    assert sorted(paper["notes"].split("; studies/")[1] for paper in cited["references"]) == STUDIES
    assert all(paper["title"] and paper["authors"] and paper["type"] for paper in cited["references"])


def test_the_changelog_begins_with_unreleased_changes_or_this_version() -> None:
    (first, *_) = re.findall(r"^## (.*)$", (CHECKOUT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert re.fullmatch(rf"Unreleased|{re.escape(PROJECT['version'])} \(\d{{4}}-\d\d-\d\d\)", first)


def test_spack_asks_for_what_the_wheel_asks_for() -> None:
    recipe = (SPACK / "py_haloscope/package.py").read_text()
    ast.parse(recipe)
    asked = set(re.findall(r'depends_on\("(?:py-)?([\w-]+)@', recipe))
    extra = PROJECT["optional-dependencies"]
    declared = [*PROJECT["dependencies"], *extra["build"], *extra["pages"], *extra["statistics"]]
    assert {re.split("[><=]", word)[0] for word in declared} <= asked
    assert f'version("{PROJECT["version"]}")' in recipe
    for build in BUILD_SYSTEM["requires"]:
        name, oldest = build.split(">=")
        assert re.search(rf'depends_on\("py-{name}@{oldest}:", type=\(?"build"', recipe)


def test_recipes_for_spack_take_what_is_locked() -> None:
    """Packages that are missing in Spack, or too old there."""
    locked = (CHECKOUT / "requirements/runtime.lock").read_text()
    recipes = [path for path in SPACK.glob("*/package.py") if path.parent.name != "py_haloscope"]
    assert len(recipes) == 4
    for path in recipes:
        ast.parse(path.read_text())
        (version, digest) = re.findall(r'version\("(.*)", sha256="(\w+)"\)', path.read_text())[0]
        name = path.parent.name.removeprefix("py_").replace("_", "-")
        (lines,) = re.findall(
            rf"^{name}=={re.escape(version)} (.*?)(?=^\S|\Z)", locked, re.MULTILINE | re.DOTALL
        )
        assert f"sha256:{digest}" in lines


@pytest.mark.parametrize("shell", ["bash", "csh"])
def test_the_module_file_puts_the_command_on_the_path(shell: str, tmp_path: Path) -> None:
    command = shutil.which("modulecmd") or "/usr/lib/x86_64-linux-gnu/modulecmd.tcl"
    if not Path(command).exists():
        missing("no Environment Modules: apt-get install environment-modules")
    include = tmp_path / "lib/python3.11/site-packages/haloscope/_share/include"
    include.mkdir(parents=True)
    done = run_program(
        [command, shell, "load", "haloscope"],
        env={
            "MODULEPATH": str(CHECKOUT / "packaging/modulefiles"),
            "HALOSCOPE_PREFIX": str(tmp_path),
            "PATH": "/usr/bin:/bin",
        },
    )
    assert f"{tmp_path}/commands:/usr/bin" in done.stdout, done.stderr
    assert str(include) in done.stdout
