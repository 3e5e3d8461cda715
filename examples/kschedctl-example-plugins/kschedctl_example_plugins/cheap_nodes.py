"""CheapNodes: the cheaper a node by its label, the higher its score.

Raw score: the price in thousandths, digits beyond these cut off. Normalised: ``100 - 100 x price / highest price``,
divided in integers that truncate; without a price a node counts as the dearest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import ClassVar

import msgspec
import numpy as np

from kschedctl.api.pod import Pod
from kschedctl.arrays import Int64Array
from kschedctl.framework.arithmetic import Arithmetic, Step
from kschedctl.framework.config.types import ConfigStruct
from kschedctl.framework.cycle_state import CycleState
from kschedctl.framework.interface import (
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
        The label of nodes that has their price: a decimal number such as ``0.125``.
    """

    label: str = "example.com/price-per-hour"


def prices(values: Sequence[str]) -> Int64Array:
    """Prices in thousandths; -1 for what is none.

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
    """How CheapNodes came to its raw score, for ``explain --node NAME --why``.

    Attributes
    ----------
    written : str
        The node's price as its label has it; empty where it has no such label.
    thousandths : int
        The score.
    """

    written: str
    thousandths: int

    def formula(self) -> str:
        """That of the plugin."""
        return "the price in thousandths, cut off"

    def steps(self) -> Iterator[Step]:
        """One."""
        if self.thousandths < 0:
            yield Step("score", "-1", -1, "the node has no price, and counts as the dearest")
        else:
            yield Step("score", str(self.thousandths), self.thousandths, f"the price is {self.written}")


class CheapNodes(ScorePlugin):
    """Prefers cheap nodes.

    A plugin answers for all nodes at once: a label is a column of codes, so that every distinct price is read once.
    """

    name = "CheapNodes"
    args_type: ClassVar[type[ConfigStruct]] = CheapNodesArgs

    def __init__(self, args: msgspec.Struct | None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._label = args.label if isinstance(args, CheapNodesArgs) else CheapNodesArgs().label

    def score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Int64Array:
        """The prices."""
        column = self.handle.cluster.nodes.labels[self._label]
        # The last one is what code -1 picks: nodes without the label.
        by_value = np.append(prices(column.values), -1)
        return by_value[column.codes[rows]]

    def normalize_score(self, state: CycleState, pod: Pod, scores: Int64Array) -> Int64Array:
        """The cheapest gets most."""
        return default_normalize_score(_priced(scores), reverse=True)

    def explain_score(self, state: CycleState, pod: Pod, row: int) -> Arithmetic:
        """The price of the node."""
        written = self.handle.cluster.nodes.objects[row].metadata.labels.get(self._label, "")
        return Price(written, _thousandths(written))

    def explain_normalize_score(self, state: CycleState, pod: Pod, scores: Int64Array, position: int) -> Arithmetic:
        """By the highest price."""
        return explain_default_normalize_score(_priced(scores), position, reverse=True)


def _priced(scores: Int64Array) -> Int64Array:
    """Prices, the highest one for nodes without."""
    return np.where(scores < 0, scores.max(initial=0), scores)
