"""The number of pods per class and node, as sparse cells: a sum per node is one pass over the cells."""

from __future__ import annotations

import msgspec
import numpy as np

from kschedctl.common.arrays import Int64Array


class Cells(msgspec.Struct, frozen=True):
    """The pairs of class and node that have pods.

    Attributes
    ----------
    classes, rows, counts : ndarray of int64, shape (n_cells,)
        Class, node row, and number of pods; by class and then by node.
    offsets : ndarray of int64, shape (n_classes + 1,)
        The position of the first cell of each class; the last entry is the number of cells.
    """

    classes: Int64Array
    rows: Int64Array
    counts: Int64Array
    offsets: Int64Array

    @classmethod
    def of(cls, class_id: Int64Array, node_row: Int64Array, n_classes: int, counts: Int64Array | None = None) -> Cells:
        """Count pods by class and node.

        Parameters
        ----------
        class_id, node_row : ndarray of int64, shape (n_pods,)
            The class and the node row of each pod; pods without a node (negative row) are not counted.
        n_classes : int
            The number of classes.
        counts : ndarray of int64, shape (n_pods,), optional
            The weight of each pod; by default 1.
        """
        here = np.flatnonzero(node_row >= 0)
        class_id, node_row = class_id[here], node_row[here]
        n_rows = int(node_row.max(initial=0)) + 1
        if counts is None:
            pairs, number = np.unique(class_id * n_rows + node_row, return_counts=True)
        else:
            pairs, inverse = np.unique(class_id * n_rows + node_row, return_inverse=True)
            number = np.zeros(len(pairs), dtype=np.int64)
            np.add.at(number, inverse, counts[here])
            pairs, number = pairs[number != 0], number[number != 0]
        classes, rows = np.divmod(pairs, n_rows)
        return cls(classes, rows, number.astype(np.int64), np.searchsorted(classes, np.arange(n_classes + 1)))

    def among(self, class_ids: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Return class, row and count of the cells of some classes, given ascending; unknown classes have no cells."""
        n_known = len(self.offsets) - 1
        class_ids = class_ids[: np.searchsorted(class_ids, n_known)]
        if len(class_ids) == n_known:
            return self.classes, self.rows, self.counts
        starts = self.offsets[class_ids]
        lengths = self.offsets[class_ids + 1] - starts
        ends = np.cumsum(lengths)
        at = np.repeat(starts - ends + lengths, lengths) + np.arange(int(ends[-1]) if len(ends) else 0)
        return self.classes[at], self.rows[at], self.counts[at]
