"""Tables on a terminal, as csv and as json."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.profile.shown.renderer import FORMATS as FORMATS
    from haloscope.profile.shown.renderer import render as render
    from haloscope.profile.shown.table_views import views as views

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
