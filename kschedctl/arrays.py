"""The array types of the columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: int64 of any shape: rows, counts, milli-CPU, bytes.
Int64Array = NDArray[np.int64]
#: bool of any shape.
Mask = NDArray[np.bool_]
