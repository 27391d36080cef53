"""Sites: the source lines of MPI calls, and their stacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.profile.sites.book import SiteBook as SiteBook
    from haloscope.profile.sites.call_stacks import SourceLocation as SourceLocation
    from haloscope.profile.sites.call_stacks import name_stack as name_stack
    from haloscope.profile.sites.call_stacks import site_of as site_of
    from haloscope.profile.sites.site_table import site_rows as site_rows
    from haloscope.profile.sites.site_table import sites as sites
    from haloscope.profile.sites.symbols import Functions as Functions

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
