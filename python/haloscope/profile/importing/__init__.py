"""Profiles that other tools left behind: OTF2 archives, Caliper's .cali, mpiP's reports."""

from haloscope.profile.importing.foreign_tables import Foreign
from haloscope.profile.importing.recognised import kind_of_foreign, open_foreign

__all__ = ["Foreign", "kind_of_foreign", "open_foreign"]
