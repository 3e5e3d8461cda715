"""The array types of the columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: int64 of any shape: rows, counts, milli-CPU, bytes.
Int64Array = NDArray[np.int64]
#: bool of any shape.
Mask = NDArray[np.bool_]

# The index spaces. An index has a meaning only within its space, so signatures name the space. To the type checker all
# of these types are int64 arrays.

#: Node rows: indices into ``Cluster.nodes``.
Rows = Int64Array
#: Indices into ``Cluster.pods``.
PodIndices = Int64Array
#: Positions in an overlay. A world is a hypothetical state of one node: world ``w`` concerns the node row
#: ``Overlay.rows[w]``.
Worlds = Int64Array
#: Positions in a table of pods in worlds (``PodsInWorlds``).
Entries = Int64Array
