"""Profiles that other tools left behind: OTF2 archives, Caliper's .cali, mpiP's reports."""

from haloscope.explain.importing._foreign import Foreign
from haloscope.explain.importing._kinds import kind_of_foreign, open_foreign

__all__ = ["Foreign", "kind_of_foreign", "open_foreign"]
