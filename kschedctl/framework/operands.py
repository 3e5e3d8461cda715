"""The operands of a reason: the numbers and names that a plugin judged by. Words, data and remedies are made of them.

A plugin defines a struct beside its rule and makes one when somebody looks at a node, never on the way to a decision:

    class UntoleratedTaint(Operands, frozen=True):
        taint: Taint

        def words(self) -> str:
            return f"taint {self.taint} is not tolerated"
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from kschedctl.framework.remedy import Remedy, RemedyContext


class Shortfall(msgspec.Struct, frozen=True):
    """How much of what a pod wants a node does not have.

    Attributes
    ----------
    resource : str
        What is short.
    wanted : int
        How much of it the pod wants: milli-CPU, bytes or a count; more than 0.
    lacking : int
        How much of that is missing, in the same unit; more than ``wanted`` where the node is overcommitted.
    offered : int
        How much of it the node has in all, in the same unit.
    """

    resource: str
    wanted: int
    lacking: int
    offered: int

    @property
    def hopeless(self) -> bool:
        """Whether the node could not hold the pod if it were empty."""
        return self.wanted > self.offered

    @property
    def share(self) -> float:
        """What is missing as a share of what is wanted; nodes compare by it."""
        return self.lacking / self.wanted


class Operands(msgspec.Struct, frozen=True, rename="camel"):
    """Base of the operands of reasons.

    Fields are of types that msgspec reads and writes, so that operands can be kept and read back.
    """

    def words(self) -> str:
        """Our own words for the reason, with the operands in them."""
        raise NotImplementedError(f"{type(self).__name__} has no words")

    def data(self) -> dict[str, Any]:
        """The operands as ``-o json`` shows them, which is part of the public interface: by default every field."""
        out: dict[str, Any] = msgspec.to_builtins(self)
        return out

    def shortfall(self) -> Shortfall | None:
        """How far the node is from fitting, where the reason is an amount; the closest node is found by it."""
        return None

    def remedies(self, context: RemedyContext) -> Iterable[Remedy]:
        """What could cure the reason: single changes, which are tried before they are told; by default none."""
        return ()
