"""Plugin results: the framework's status codes, for a pod as a whole and for many nodes at once."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.scheduler.framework.operands import Operands


class Code(IntEnum):
    """The framework's status codes."""

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5
    PENDING = 6

    def __str__(self) -> str:
        return _CODE_NAMES[self]

    @property
    def rejected(self) -> bool:
        """True if the code rejects a pod without being an error."""
        return self in (Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING)


_CODE_NAMES: Final = {
    Code.SUCCESS: "Success",
    Code.ERROR: "Error",
    Code.UNSCHEDULABLE: "Unschedulable",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: "UnschedulableAndUnresolvable",
    Code.WAIT: "Wait",
    Code.SKIP: "Skip",
    Code.PENDING: "Pending",
}


class Status(msgspec.Struct, frozen=True):
    """The status that one plugin returned for a pod.

    Attributes
    ----------
    code : Code
        The status code.
    reasons : tuple of str
        The reasons, in kube-scheduler's words.
    plugin : str
        The plugin that returned the status.
    """

    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()
    plugin: str = ""

    @property
    def message(self) -> str:
        """The reasons, joined with commas."""
        return ", ".join(self.reasons)


SUCCESS: Final = Status()
SKIP: Final = Status(Code.SKIP)


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason why a plugin rejects a node.

    Attributes
    ----------
    text : str
        The reason in kube-scheduler's words, as in its event.
    operands : Operands, optional
        The numbers and names behind the reason.
    """

    text: str
    operands: Operands | None = None

    @property
    def detail(self) -> str:
        """The reason in this project's words, with its numbers and names; empty without operands."""
        return self.operands.words() if self.operands is not None else ""

    @property
    def data(self) -> dict[str, Any]:
        """The operands as ``-o json`` shows them; empty without operands."""
        return self.operands.data() if self.operands is not None else {}


class Rejections(msgspec.Struct, frozen=True):
    """The result of one plugin for many nodes. Texts are created on demand.

    Attributes
    ----------
    code : ndarray of int8, shape (n_worlds,)
        A ``Code`` per node; 0 where the pod passes.
    reason : ndarray of int64, shape (n_worlds,)
        The plugin's own number for its reasons; nodes with the same number have the same texts.
    texts : callable
        Returns kube-scheduler's texts for a reason number.
    details : callable, optional
        Returns the reasons at a position, with operands; called only on demand.
    alike : callable, optional
        Returns a number of at least 0 per node, shape (n_worlds,); rejected nodes with the same number have the same
        reasons, operands included. By default, reasons with details differ from node to node.
    """

    code: NDArray[np.int8]
    reason: Int64Array
    texts: Callable[[int], tuple[str, ...]]
    details: Callable[[int], tuple[Reason, ...]] | None = None
    alike: Callable[[], Int64Array] | None = None

    @classmethod
    def where(
        cls, mask: Mask, code: Code, text: str, details: Callable[[int], tuple[Reason, ...]] | None = None
    ) -> "Rejections":
        """Return a rejection of the masked nodes, all with the same code and text."""
        return cls((mask * code).astype(np.int8), np.zeros(len(mask), dtype=np.int64), lambda _: (text,), details)

    @classmethod
    def everywhere(cls, n_worlds: int, status: Status) -> "Rejections":
        """Return the same status for every node."""
        code = np.zeros(n_worlds, dtype=np.int8)
        if status.code:
            code[:] = status.code
        return cls(code, np.zeros(n_worlds, dtype=np.int64), lambda _: status.reasons)

    @classmethod
    def choose(
        cls, which: Int64Array, statuses: tuple[Status, ...], details: Callable[[int], tuple[Reason, ...]] | None = None
    ) -> "Rejections":
        """Return one of several statuses for each node.

        Parameters
        ----------
        which : ndarray of int64, shape (n_worlds,)
            Index into ``statuses``; -1 where the pod passes.
        statuses : tuple of Status
            The possible statuses.
        details : callable, optional
            As in ``Rejections``.
        """
        codes = np.array([*(status.code for status in statuses), Code.SUCCESS], dtype=np.int8)
        return cls(codes[which], which, lambda i: statuses[i].reasons, details)

    @property
    def rejected(self) -> Mask:
        """The mask of rejected nodes: bool, shape (n_worlds,)."""
        mask: Mask = self.code != 0
        return mask

    def status(self, position: int, plugin: str = "") -> Status:
        """Return the status of one node."""
        code = Code(int(self.code[position]))
        return Status(code, self.texts(int(self.reason[position])) if code else (), plugin)

    def reasons(self, position: int) -> tuple[Reason, ...]:
        """Return the reasons why one node is rejected, with operands; empty if it is not rejected."""
        if not self.code[position]:
            return ()
        if self.details is not None:
            return self.details(position)
        return tuple(Reason(text) for text in self.texts(int(self.reason[position])))

    def distinct(self) -> Int64Array:
        """Return a number per node: int64, shape (n_worlds,); nodes with the same one have the same reasons."""
        if self.details is None:
            number = self.reason
        else:
            number = self.alike() if self.alike is not None else np.arange(len(self.code))
        return np.where(self.rejected, number, -1)
