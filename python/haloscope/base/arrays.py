"""Types of NumPy arrays, by the kind of their elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Integers32 = NDArray[np.int32]
Indices = NDArray[np.intp]
Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]
AnyArray = NDArray[Any]
