"""The operands of a reason: the numbers and names behind it, from which text, data and remedies are derived.

A plugin defines a struct next to its rule. It creates an instance when a node is explained, never during scheduling:

    class UntoleratedTaint(Operands, frozen=True):
        taint: Taint

        def words(self) -> str:
            return f"taint {self.taint} is not tolerated"
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from kschedctl.scheduler.framework.remedy import Remedy, RemedyContext


class Shortfall(msgspec.Struct, frozen=True):
    """The amount of a resource that a node is short of for a pod."""

    resource: str
    #: The amount that the pod requests: milli-CPU, bytes or a count; more than 0.
    wanted: int
    #: The missing part of that amount, in the same unit; more than ``wanted`` if the node is overcommitted.
    lacking: int
    #: The node's total amount, in the same unit.
    offered: int

    @property
    def hopeless(self) -> bool:
        """True if the pod would not fit even on the empty node."""
        return self.wanted > self.offered

    @property
    def share(self) -> float:
        """The missing amount divided by the requested amount, by which nodes are compared."""
        return self.lacking / self.wanted


class Operands(msgspec.Struct, frozen=True, rename="camel"):
    """Base class of the operands of reasons.

    The fields have types that msgspec encodes and decodes, so that operands can be stored and read back.
    """

    def words(self) -> str:
        """Return this project's text for the reason, including the operands."""
        raise NotImplementedError(f"{type(self).__name__} has no words")

    def data(self) -> dict[str, Any]:
        """Return the operands as ``-o json`` shows them; by default every field.

        The result is part of the public interface.
        """
        out: dict[str, Any] = msgspec.to_builtins(self)
        return out

    def shortfall(self) -> Shortfall | None:
        """Return the shortfall if the reason is about an amount, else ``None``; it is used to find the closest node."""
        return None

    def remedies(self, context: "RemedyContext") -> "Iterable[Remedy]":
        """Yield single changes that could remove the reason; by default none.

        Each is tried before it is reported.
        """
        return ()
