"""Every table of a profile by name, in the order in which they are listed."""

from __future__ import annotations

from collections.abc import Mapping

from haloscope.profile.shown.region_tables import REGION_TABLES
from haloscope.profile.shown.run_tables import INFO, RUN_TABLES
from haloscope.profile.shown.shown_table import ShownTable
from haloscope.profile.shown.timing_tables import TIMING_TABLES

SHOWN: Mapping[str, ShownTable] = {
    table.name: table for table in (*REGION_TABLES, *RUN_TABLES, *TIMING_TABLES, INFO)
}
