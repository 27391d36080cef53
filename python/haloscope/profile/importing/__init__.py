"""Profiles of other tools: OTF2 archives, Caliper's .cali files, mpiP's reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.profile.importing.foreign_tables import Foreign as Foreign
    from haloscope.profile.importing.mpi_functions import family_of as family_of
    from haloscope.profile.importing.otf2_loader import otf2_library as otf2_library
    from haloscope.profile.importing.recognised import kind_of_foreign as kind_of_foreign
    from haloscope.profile.importing.recognised import open_foreign as open_foreign

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
