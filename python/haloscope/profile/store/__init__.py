"""The file format, columns, regions and hosts: the data of one profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.profile.shown.cells import PROGRAM as PROGRAM
    from haloscope.profile.shown.cells import region_text as region_text
    from haloscope.profile.store.columns import LAYOUT as LAYOUT
    from haloscope.profile.store.columns import NEEDED as NEEDED
    from haloscope.profile.store.columns import REGION_COLUMNS as REGION_COLUMNS
    from haloscope.profile.store.columns import keys as keys
    from haloscope.profile.store.columns import reductions as reductions
    from haloscope.profile.store.columns import replace_empty_text as replace_empty_text
    from haloscope.profile.store.columns import type_columns as type_columns
    from haloscope.profile.store.directory import most_memory as most_memory
    from haloscope.profile.store.format import ProfileFile as ProfileFile
    from haloscope.profile.store.head import read_info as read_info
    from haloscope.profile.store.hosts import Hosts as Hosts
    from haloscope.profile.store.info_keys import check_info as check_info
    from haloscope.profile.store.profile_data import ProfileData as ProfileData
    from haloscope.profile.store.source import Source as Source
    from haloscope.profile.store.tree import RegionTree as RegionTree
    from haloscope.profile.store.tree import Scope as Scope
    from haloscope.profile.store.tree import list_regions as list_regions
    from haloscope.profile.store.tree import make_region_error as make_region_error
    from haloscope.profile.store.tree import parts as parts

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
