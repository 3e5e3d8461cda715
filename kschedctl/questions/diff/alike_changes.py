"""The changes for running pods that are alike on both sides: compared together when the first of them is asked for."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from msgspec.structs import replace

from kschedctl.questions.diff.answer import PodChangeData
from kschedctl.questions.diff.nodes import ComparedNodes, NodeChanges
from kschedctl.questions.diff.pod_change import Summary, compare_outcomes
from kschedctl.questions.diff.sides import Basis, Key, Side
from kschedctl.questions.handle import AnalysisHandle

#: The most pods times nodes that are compared at once, which bounds the memory.
_MOST_CELLS: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class AlikeChange:
    """The change for a pod of several that are alike."""

    #: The change, without the pod's name; ``None`` if nothing changes. Its nodes are listed if no change before it has
    #: the same summary.
    change: PodChangeData | None
    #: By side, what the answer depends on.
    basis: tuple[Basis, Basis]


class AlikeChanges:
    """The changes for running pods that are like others on both sides, and for which no side needs a cycle.

    Args:
        keys: The pods, in the order in which their changes are asked for.
    """

    def __init__(self, sides: tuple[Side, Side], keys: Iterable[Key], handle: AnalysisHandle) -> None:
        self._sides, self._handle = sides, handle
        self._likeness: dict[Key, tuple[Hashable, Hashable]] = {}
        #: By likeness on both sides, the pods that are not compared yet, with their indices.
        self._open: dict[tuple[Hashable, Hashable], list[tuple[Key, int, int]]] = {}
        self._found: dict[Key, AlikeChange] = {}
        for key in keys:
            old, new = (side.alike_to_others.get(key) for side in sides)
            if old is not None and new is not None:
                self._likeness[key] = old[0], new[0]
                self._open.setdefault(self._likeness[key], []).append((key, old[1], new[1]))

    def take(self, key: Key, seen: set[Summary] | None) -> AlikeChange | None:
        """Return the change for a pod; ``None`` if it has to be compared alone.

        Args:
            seen: The summaries of earlier changes, whose nodes are not listed again; ``None`` to list all nodes.
        """
        likeness = self._likeness.get(key)
        if likeness in self._open:
            self._compare(likeness, self._open.pop(likeness), seen)
        return self._found.pop(key, None)

    def _compare(
        self, likeness: tuple[Hashable, Hashable], pods: Sequence[tuple[Key, int, int]], seen: set[Summary] | None
    ) -> None:
        before, after = self._sides
        n_nodes = max(len(side.cluster.nodes) for side in self._sides)
        together = max(_MOST_CELLS // n_nodes, 1)
        listed: set[Summary] = set()
        for start in range(0, len(pods), together):
            self._handle.check()
            keys, *indices = zip(*pods[start : start + together], strict=True)
            old, new = before.answers(likeness[0], indices[0]), after.answers(likeness[1], indices[1])
            if old is None or new is None:
                return
            compared = ComparedNodes.of(old.rescheduled.columns, new.rescheduled.columns)
            for i in np.flatnonzero(old.rescheduled.decided & new.rescheduled.decided).tolist():
                nodes = NodeChanges(compared, i)
                change = compare_outcomes(old.outcomes[i], new.outcomes[i], nodes)
                if change is not None:
                    if seen is None or (change.summary not in seen and change.summary not in listed):
                        change = replace(change, nodes=nodes.data())
                    listed.add(change.summary)
                self._found[keys[i]] = AlikeChange(change, (old.basis(i), new.basis(i)))
