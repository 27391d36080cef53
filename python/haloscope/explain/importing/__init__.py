"""Profiles that other tools left behind: OTF2 archives, Caliper's .cali, mpiP's reports."""

from haloscope.explain.importing._foreign_tables import Foreign
from haloscope.explain.importing._recognised import kind_of_foreign, open_foreign

__all__ = ["Foreign", "kind_of_foreign", "open_foreign"]
