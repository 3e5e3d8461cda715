"""Reports of plugins on demand: the arithmetic of a score, the comparisons of a filter, and counted domains."""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from kschedctl.cluster.labels import LabelColumn
from kschedctl.common.arrays import Int64Array


class Step(msgspec.Struct, frozen=True, rename="camel"):
    """A single step in the computation of a score."""

    #: The quantity that the step computes, such as a resource.
    name: str
    expression: str
    #: The value of the expression.
    value: int | float
    #: The meaning of the numbers, in words; empty where it is obvious.
    note: str = ""


class Arithmetic(msgspec.Struct, frozen=True, rename="camel"):
    """Base class of the arithmetic of plugins."""

    def formula(self) -> str:
        """Return the general rule, in one line."""
        raise NotImplementedError(f"{type(self).__name__} has no formula")

    def steps(self) -> Iterator[Step]:
        """Yield the steps, at least one; the value of the last step is the score."""
        raise NotImplementedError(f"{type(self).__name__} has no steps")


class ScaledToHighest(Arithmetic, frozen=True):
    """Scores scaled so that the highest becomes 100 (``default_normalize_score``)."""

    #: The node's raw score.
    score: int
    #: The highest raw score among the scored nodes.
    highest: int
    #: True if low raw scores are better.
    reverse: bool

    def formula(self) -> str:
        return "100 - 100 * score // highest" if self.reverse else "100 * score // highest"

    def steps(self) -> Iterator[Step]:
        if not self.highest:
            value = 100 if self.reverse else 0
            yield Step("normalised", str(value), value, "no node has more than 0")
            return
        scaled, expression = 100 * self.score // self.highest, f"100 * {self.score} // {self.highest}"
        if self.reverse:
            scaled, expression = 100 - scaled, f"100 - {expression}"
        yield Step("normalised", expression, scaled, f"the highest is {self.highest}")


def sum_expression(terms: Iterable[str]) -> str:
    """Return an expression that adds up the terms; "0" if there are none."""
    return " + ".join(terms) or "0"


# The comparisons a filter makes on a node, reported on demand for nodes that pass as well.


class FilterCheck(msgspec.Struct, frozen=True, rename="camel"):
    """A single comparison made by a filter."""

    #: The requirement of the pod, or of something on the node: ``nodeSelector disk=ssd``, ``0.5 cpu``.
    wanted: str
    #: The actual state it is compared with, with every number: ``node has disk=hdd``, ``free 0.3 of 4``.
    found: str
    #: True if the requirement is met. The filter passes the pod if all its checks hold.
    holds: bool


# The pods that a constraint of a pod counts by topology domain, reported on demand.

#: The most domains that are reported: a constraint over host names has one per node.
_MOST: Final = 60


class CountedDomains(msgspec.Struct, frozen=True, kw_only=True):
    """The matching pods of a required constraint by topology domain, without nominated pods."""

    #: The label whose values are the domains.
    topology_key: str
    #: The number of matching pods by domain, those with the most pods first; at most 60 domains.
    pods: dict[str, int]
    domains: int
    #: True if the pod itself matches.
    own: bool
    #: The minimum over all domains of a spread constraint, 0 if there are fewer domains than ``minDomains``;
    #: ``None`` for affinity.
    minimum: int | None = None
    #: The largest skew that a spread constraint allows; ``None`` for affinity.
    max_skew: int | None = None


def most_populated(column: LabelColumn, counts: Int64Array, domains: Int64Array) -> dict[str, int]:
    """Return the number of pods of the domains with the most pods, by name.

    Args:
        counts: The number of matching pods by domain.
    """
    found = [(column.values[domain], int(counts[domain])) for domain in domains.tolist()]
    return dict(sorted(found, key=lambda each: (-each[1], each[0]))[:_MOST])
