"""What the studies share."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["ENVIRONMENT", "HALOSCOPE"]

HALOSCOPE = Path(sys.executable).with_name("haloscope")
# Any user may run them, and more ranks than cores are no error and wait politely.
ENVIRONMENT = os.environ | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
