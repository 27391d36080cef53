"""The tables of a profile, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.profile.tables.binding import numbers_of as numbers_of
    from haloscope.profile.tables.efficiencies import efficiency_rows as efficiency_rows
    from haloscope.profile.tables.information import info as info
    from haloscope.profile.tables.information import read_texts as read_texts
    from haloscope.profile.tables.information import run_information as run_information
    from haloscope.profile.tables.instances import QUANTITIES as QUANTITIES
    from haloscope.profile.tables.instances import Instances as Instances
    from haloscope.profile.tables.instances import InstanceSeries as InstanceSeries
    from haloscope.profile.tables.ranks import main_thread_rows as main_thread_rows
    from haloscope.profile.tables.ranks import rank_rows as rank_rows
    from haloscope.profile.tables.ranks import region_rows as region_rows
    from haloscope.profile.tables.ranks import shows_main_threads as shows_main_threads
    from haloscope.profile.tables.table_builders import TABLES as TABLES
    from haloscope.profile.tables.table_builders import call_rows as call_rows

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
