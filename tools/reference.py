"""Fill the generated parts of the documentation.

`python tools/reference.py [PAGE...]` writes the pages whose generated parts have changed.
`python tools/reference.py --check [PAGE...]` writes nothing, prints these pages, and fails if there are any.
`python tools/reference.py --verbs` prints all verbs.

A generated part is between two lines of a page, `<!-- KIND: ARGUMENT -->` and `<!-- end -->`.
`<!-- options: bench p2p -->`: The options of a command, from its declaration in haloscope.cli.
`<!-- stored: ranks -->`: The columns of a table of the profile file, from haloscope.base.schema.
`<!-- shown: ranks -->`: The columns of a printed table, from its `ShownTable`.
`<!-- packages: python -->`: Imports between packages; with `src`, includes.
`<!-- settings: watch -->`: The environment variables of a package, from its settings.
`<!-- variables: watch -->`: Those of them that are no options.
`<!-- rules: findings -->`: The rules of `haloscope findings`.
`<!-- keys: System -->`: The keys of a part of a campaign's specification.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import click

import structure
from haloscope import hide, watch
from haloscope.base import schema
from haloscope.explain import COMMITS_TABLE, HISTORY_TABLE
from haloscope.explain.findings import RULES
from haloscope.markov import REGIMES_TABLE
from haloscope.predict.bench import POINTS_TABLE
from haloscope.predict.simulate import PREDICTION_TABLE, SENSITIVITY_TABLE
from haloscope.predict.tune import TUNE_TABLE
from haloscope.profile.shown import SHOWN
from haloscope.reproduce.campaign import SPECIFIED
from manual import commands

CHECKOUT = Path(__file__).resolve().parents[1]
_PART = re.compile(r"(<!-- ([a-z]+): ([^\n]*?) -->\n)(.*?)(<!-- end -->\n)", re.DOTALL)
_SETTINGS = {"watch": watch.SETTINGS, "watch to recorder": watch.PASSED_ON, "shm": hide.SHM_SETTINGS}
_TABLES = (
    *(COMMITS_TABLE, HISTORY_TABLE, POINTS_TABLE, PREDICTION_TABLE),
    *(REGIMES_TABLE, SENSITIVITY_TABLE, TUNE_TABLE),
)
_SHOWN = {**SHOWN, **{each.name: each for each in _TABLES}}
_DEFAULT = re.compile(r"\s*\[(?:default: )?([^\[\]]*)\]$")
_RANGE = re.compile(r"(?:([\d.]+)(<=?))?x(?:(<=?|>=?)([\d.]+))?$")
_BOUNDS = {"<": "below", "<=": "at most", ">": "above", ">=": "at least"}


def pages() -> list[Path]:
    """Return the pages that may have generated parts."""
    return sorted((CHECKOUT / "docs").rglob("*.md"))


def filled(text: str) -> str:
    """Return a page with its generated parts updated."""
    return _PART.sub(lambda part: part[1] + KINDS[part[2]](part[3]) + part[5], text)


def verbs() -> Iterator[tuple[str, click.Command]]:
    """Yield the words of each verb, such as "bench p2p", with its command."""
    return ((words, command) for words, command in commands() if not isinstance(command, click.Group))


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def options_of(command: click.Command) -> list[click.Option]:
    """Return the options of a command; `--help`, which all have, is none of them."""
    return [option for option in command.params if isinstance(option, click.Option) and not option.hidden]


def options(words: str) -> str:
    """Return the table of the options of one command."""
    command = dict(verbs())[words]
    context = click.Context(command, info_name=words, show_default=True)
    records = [option.get_help_record(context) or ("", "") for option in options_of(command)]
    rows = [[f"`{names}`", *_explained(text)] for names, text in records]
    return table(["option", "meaning", "default"], rows) if rows else "It has no options.\n"


def _explained(text: str) -> list[str]:
    """Return the meaning of an option, and its default, from its help."""
    default = _DEFAULT.search(text)
    return [text[: default.start()], _RANGE.sub(_range_text, default[1])] if default else [text, ""]


def _range_text(found: re.Match[str]) -> str:
    """Return the words for a range in Click's notation, such as `0<x<=3600`."""
    low, low_sign, sign, bound = found.groups()
    if low_sign == "<=" and sign == "<=":
        return f"{float(low):g} to {float(bound):.15g}"
    words = [f"{'above' if low_sign == '<' else 'at least'} {low}"] if low else []
    return ", ".join([*words, *([f"{_BOUNDS[sign]} {bound}"] if sign else [])])


def stored(name: str) -> str:
    """Return the columns of a table of the profile file."""
    rows = [[f"`{c.name}`", c.type, c.unit, c.meaning + _since(c.since)] for c in schema.STORED[name]]
    return table(["column", "type", "unit", "meaning"], rows)


def _since(minor: int) -> str:
    return f" (since {schema.FORMAT[0]}.{minor})" if minor else ""


def shown(name: str) -> str:
    """Return the columns of a table that people and scripts see."""
    rows = [[_names(group.names), group.meaning] for group in _SHOWN[name].groups]
    return table(["column", "meaning"], rows)


def _names(names: Sequence[str]) -> str:
    if names[:1] and names[0].endswith("_instance_min"):
        return "`X_instance_min`, `X_instance_max`"
    return ", ".join(f"`{name}`" for name in names) or "any other"


def keys(name: str) -> str:
    """Return the keys of a part of a specification; one that has a default may be missing."""
    rows = [
        [
            f"`{key}`",
            str(field.description),
            "needed" if field.is_required() else _default_text(field.default),
        ]
        for key, field in SPECIFIED[name].model_fields.items()
    ]
    return table(["key", "meaning", "default"], rows)


def _default_text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"`{value}`" if isinstance(value, str | int | float) and value != "" else ""


def settings(package: str) -> str:
    """Return the environment variables of a package."""
    rows = [
        [f"`{s.variable}`", f"`{s.option}`" if s.is_option else "", s.description, s.default]
        for s in _SETTINGS[package]
    ]
    return table(["variable", "option", "meaning", "default"], rows)


def variables(package: str) -> str:
    """Return the environment variables of a package that have no option."""
    rows = [[f"`{s.variable}`", s.description, s.default] for s in _SETTINGS[package] if not s.is_option]
    return table(["variable", "meaning", "default"], rows)


def rules(_: str) -> str:
    """Return the rules by which findings are made, in their order, with links to their sections."""
    page = (CHECKOUT / "docs/reference/findings.md").read_text("utf-8")

    def link(name: str) -> str:
        return f"[`{name}`](#{name})" if f"### `{name}`\n" in page else f"`{name}`"

    rows = [
        [", ".join(map(link, rule.names)), rule.finds, rule.threshold, _names(rule.tables)] for rule in RULES
    ]
    return table(["rule", "finds", "when", "tables"], rows)


def packages(which: str) -> str:
    """Return the packages that each package uses, the highest first, without `base`, which all use."""
    is_python = which == "python"
    edges = structure.package_imports() if is_python else structure.package_includes()
    order = structure.PYTHON_ORDER if is_python else structure.SOURCE_ORDER
    used = {name: [b for b in order if (name, b) in edges and b != "base"] for name in reversed(order)}
    rows = [[f"`{name or 'front'}`", _names(names)] for name, names in used.items() if names]
    return table(["package", "uses"], rows)


KINDS: Mapping[str, Callable[[str], str]] = {
    "keys": keys,
    "options": options,
    "packages": packages,
    "rules": rules,
    "settings": settings,
    "shown": shown,
    "stored": stored,
    "variables": variables,
}


def main(arguments: list[str]) -> int:
    """Write or check pages, those that are named or all. Return the exit status."""
    if "--verbs" in arguments:
        print(*(words for words, _ in verbs()), sep="\n")
        return 0
    checking, status = "--check" in arguments, 0
    for page in [Path(word) for word in arguments if word != "--check"] or pages():
        old = page.read_text("utf-8")
        try:
            new = filled(old)
        except KeyError as error:
            print(f"{page}: nothing declares {error}")
            status = 1
            continue
        if new != old and checking:
            print(f"{page}: its generated parts are stale; run: make reference")
            status = 1
        elif new != old:
            page.write_text(new, "utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
