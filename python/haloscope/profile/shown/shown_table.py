"""The declaration of a table that people, scripts and Python see: names, meanings, titles and forms.

Each package declares its own. The pages of the reference are made from the declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from haloscope.base.schema import STORED, Column
from haloscope.profile.shown.cells import Form, Row, count, number, size, text, time


@dataclass(frozen=True)
class Group:
    """Columns that are explained together, with the forms of the visible ones."""

    names: tuple[str, ...]
    meaning: str
    forms: Mapping[str, Form]


def columns(names: str, meaning: str, **forms: Form) -> Group:
    """Return a group of columns. A column without a form is in csv, json and Python only."""
    return Group(tuple(names.split()), meaning, forms)


@dataclass(frozen=True)
class ColumnView:
    """One column for people."""

    name: str
    form: Form

    @property
    def title(self) -> str:
        title = self.form.title
        return self.name.replace("_", " ") if title is None else title

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.name, *self.form.more)

    def get_text(self, row: Row) -> str:
        return self.form.text(*(row[source] for source in self.sources))


@dataclass(frozen=True)
class ShownTable:
    """A table: its columns in the order of csv and json, and its view for people."""

    name: str
    groups: tuple[Group, ...] = ()
    note: str = ""  # below the table, for people
    order: str = ""  # the visible columns, if their order differs
    others: Callable[[str], Form | None] = lambda _: None  # forms of columns that are not declared
    others_at: int | None = None  # their place among the views, default: the end

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [name for group in self.groups for name in group.names]

    def views(self, present: Collection[str]) -> list[ColumnView]:
        """Return what to show of a frame that has the columns `present`."""
        forms = {name: form for group in self.groups for name, form in group.forms.items()}
        views = [ColumnView(name, forms[name]) for name in self.order.split() or forms]
        views = [view for view in views if set(view.sources) <= set(present)]
        known = {*self.columns, *forms}
        more = [ColumnView(n, form) for n in present if n not in known and (form := self.others(n))]
        at = len(views) if self.others_at is None else self.others_at
        return [*views[:at], *more, *views[at:]]


def declare_table(name: str, *groups: Group, **more: Any) -> ShownTable:
    """Return a table of these groups of columns."""
    return ShownTable(name, groups, **more)


def declare_stored_table(name: str, *groups: Group, **more: Any) -> ShownTable:
    """Return a table of these groups, and of each further column that the file's table of this name has."""
    named = {column for group in groups for column in group.names}
    others = [column for column in STORED[name] if column.name not in named and not column.is_path]
    usual = (columns(column.name, column.meaning, **{column.name: _usual_form(column)}) for column in others)
    return ShownTable(name, (*groups, *usual), **more)


def _usual_form(column: Column) -> Form:
    if column.unit in ("B", "s"):
        return size() if column.unit == "B" else time()
    return {"integer": count, "real": number, "string": text}[column.type]()
