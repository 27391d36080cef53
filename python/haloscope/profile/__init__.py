"""Profiles: the data of one run, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.profile.facade import RUN_COLUMNS as RUN_COLUMNS
    from haloscope.profile.facade import Profile as Profile
    from haloscope.profile.facade import label_table as label_table
    from haloscope.profile.facade import open as open
    from haloscope.profile.facade import run_columns as run_columns
    from haloscope.profile.facade import run_row as run_row

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
