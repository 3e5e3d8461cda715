"""CheapNodes: a score plugin that prefers nodes with a low price in a label.

The raw score is the price in thousandths, further digits truncated. The normalized score is
``100 - 100 x price / highest price``, computed in integers that truncate; a node without a price counts as the most
expensive one.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import ClassVar

import msgspec
import numpy as np

from kschedctl.common.arrays import Int64Array
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.config.types import ConfigStruct
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.explanation import Arithmetic, Step
from kschedctl.scheduler.framework.interface import (
    Handle,
    ScorePlugin,
    default_normalize_score,
    explain_default_normalize_score,
)

_MOST = 2**40


class CheapNodesArgs(ConfigStruct, frozen=True):
    """The arguments of CheapNodes.

    Attributes
    ----------
    label : str
        The key of the node label with the price: a decimal number such as ``0.125``.
    """

    label: str = "example.com/price-per-hour"


def prices(values: Sequence[str]) -> Int64Array:
    """Return prices in thousandths; -1 for a value that is not a price.

    Examples
    --------
    >>> prices(["0.125", "2", "free", "-1"])
    array([ 125, 2000,   -1,   -1])
    """
    return np.array([_thousandths(value) for value in values], dtype=np.int64)


def _thousandths(value: str) -> int:
    try:
        price = Decimal(value)
    except InvalidOperation:
        return -1
    return int(price * 1000) if price.is_finite() and 0 <= price < _MOST else -1


class Price(Arithmetic, frozen=True):
    """The arithmetic of CheapNodes' raw score, for ``explain --node NAME --why``.

    Attributes
    ----------
    written : str
        The value of the node's price label; empty if the node has no such label.
    thousandths : int
        The score: the price in thousandths, or -1 without a price.
    """

    written: str
    thousandths: int

    def formula(self) -> str:
        """Return the plugin's formula."""
        return "the price in thousandths, cut off"

    def steps(self) -> Iterator[Step]:
        """Yield the only step."""
        if self.thousandths < 0:
            yield Step("score", "-1", -1, "the node has no price, and counts as the dearest")
        else:
            yield Step("score", str(self.thousandths), self.thousandths, f"the price is {self.written}")


class CheapNodes(ScorePlugin):
    """A score plugin that prefers cheap nodes.

    The plugin scores all nodes at once: a label is a column of codes, so that every distinct price is parsed once.
    """

    name = "CheapNodes"
    args_type: ClassVar[type[ConfigStruct]] = CheapNodesArgs

    def __init__(self, args: msgspec.Struct | None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._label = args.label if isinstance(args, CheapNodesArgs) else CheapNodesArgs().label

    def score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Int64Array:
        """Return the prices in thousandths, -1 for nodes without a price."""
        column = self.handle.cluster.nodes.labels[self._label]
        # Nodes without the label have code -1, which selects this last element.
        by_value = np.append(prices(column.values), -1)
        return by_value[column.codes[rows]]

    def normalize_score(self, state: CycleState, pod: Pod, scores: Int64Array) -> Int64Array:
        """Normalize the prices to 0 to 100; the cheapest node gets the highest score."""
        return default_normalize_score(_priced(scores), reverse=True)

    def explain_score(self, state: CycleState, pod: Pod, row: int) -> Arithmetic:
        """Explain the raw score of a node: its price."""
        written = self.handle.cluster.nodes.objects[row].metadata.labels.get(self._label, "")
        return Price(written, _thousandths(written))

    def explain_normalize_score(self, state: CycleState, pod: Pod, scores: Int64Array, position: int) -> Arithmetic:
        """Explain the normalization by the highest price."""
        return explain_default_normalize_score(_priced(scores), position, reverse=True)


def _priced(scores: Int64Array) -> Int64Array:
    """Replace the -1 of nodes without a price by the highest price."""
    return np.where(scores < 0, scores.max(initial=0), scores)
