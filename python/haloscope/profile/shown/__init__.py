"""Shown tables: how each is declared, and how it is printed on a terminal, as csv and as json."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.profile.shown.cells import Form as Form
    from haloscope.profile.shown.cells import count as count
    from haloscope.profile.shown.cells import exact as exact
    from haloscope.profile.shown.cells import gain as gain
    from haloscope.profile.shown.cells import interval as interval
    from haloscope.profile.shown.cells import moment as moment
    from haloscope.profile.shown.cells import number as number
    from haloscope.profile.shown.cells import part as part
    from haloscope.profile.shown.cells import region_text as region_text
    from haloscope.profile.shown.cells import site_text as site_text
    from haloscope.profile.shown.cells import size as size
    from haloscope.profile.shown.cells import slower as slower
    from haloscope.profile.shown.cells import text as text
    from haloscope.profile.shown.cells import time as time
    from haloscope.profile.shown.cells import yes_no as yes_no
    from haloscope.profile.shown.profile_tables import SHOWN as SHOWN
    from haloscope.profile.shown.readable import readable as readable
    from haloscope.profile.shown.readable import strip_arguments as strip_arguments
    from haloscope.profile.shown.renderer import FORMATS as FORMATS
    from haloscope.profile.shown.renderer import render as render
    from haloscope.profile.shown.shown_table import ShownTable as ShownTable
    from haloscope.profile.shown.shown_table import columns as columns
    from haloscope.profile.shown.shown_table import declare_stored_table as declare_stored_table
    from haloscope.profile.shown.shown_table import declare_table as declare_table

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
