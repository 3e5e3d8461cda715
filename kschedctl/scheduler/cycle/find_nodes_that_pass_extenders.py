"""Extenders as filters (upstream ``findNodesThatPassExtenders``): each filters the nodes that the previous one left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Rows
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.cycle_state import CycleState, NotModelled
from kschedctl.scheduler.framework.extender import (
    EXTENDER_NAME,
    Extender,
    ExtenderError,
    ExtenderFilterResult,
    ExtenderRejection,
)
from kschedctl.scheduler.framework.node_statuses import ExtenderVerdict, NodeStatuses
from kschedctl.scheduler.framework.status import Code, Reason, Status


class NodesPassingExtenders(msgspec.Struct, frozen=True):
    """The nodes that pass the extenders.

    Attributes
    ----------
    rows : ndarray of int64
        The rows of the nodes, in the order of the last extender's response.
    objects : mapping of int to Node
        By row: the nodes that an extender sent back as objects.
    """

    rows: Rows
    objects: Mapping[int, Node] = msgspec.field(default_factory=dict)

    def in_order(self) -> Rows:
        """Return the rows in the order of the cluster."""
        return self.rows if bool((self.rows[1:] > self.rows[:-1]).all()) else np.sort(self.rows)


class ExtenderFilters:
    """The filtering extenders in one scheduling cycle. They may be called twice in a cycle.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    extenders : sequence of Extender
        The extenders of the configuration, in their order.
    state : CycleState
        The cycle state, in which failures of ignorable extenders are recorded.
    pod : Pod
        The pod; only extenders that are interested in it are called.
    """

    def __init__(self, cluster: Cluster, extenders: Sequence[Extender], state: CycleState, pod: Pod) -> None:
        self._cluster = cluster
        self._extenders = [each for each in extenders if each.config.filter_verb and each.is_interested(pod)]
        self._state = state
        self._pod = pod
        self._said: dict[int, ExtenderVerdict] = {}
        self._elsewhere: dict[str, Status] = {}

    def passing(self, rows: Rows) -> NodesPassingExtenders:
        """Return the nodes that pass all extenders.

        Parameters
        ----------
        rows : ndarray of int64
            The rows of the nodes that passed the filters.

        Raises
        ------
        ExtenderError
            If an extender that is not ignorable fails.
        """
        passed = NodesPassingExtenders(rows)
        for extender in self._extenders:
            if not len(passed.rows):
                break
            try:
                result = extender.filter(self._pod, [self._node(passed, row) for row in passed.rows.tolist()])
            except ExtenderError as error:
                if not extender.config.ignorable:
                    raise
                self._state.not_modelled.append(
                    ignored_extender_note(extender, f"it is ignorable and its filter call failed: {error}")
                )
                continue
            passed = self._after(extender, passed, result)
        return passed

    def statuses(self, statuses: NodeStatuses, passed: Rows) -> NodeStatuses:
        """Return the verdicts on all nodes, extenders included.

        Parameters
        ----------
        statuses : NodeStatuses
            The filters' verdicts.
        passed : ndarray of int64
            The rows of the nodes on which the pod fits after the extenders.
        """
        if not self._said and not self._elsewhere:
            return statuses
        fits = set(passed.tolist())
        said = {row: extender_verdict for row, extender_verdict in self._said.items() if row not in fits}
        for row, extender_verdict in said.items():
            if not extender_verdict.explicit:
                status = Status(statuses.absent.code, statuses.absent.reasons, EXTENDER_NAME)
                said[row] = ExtenderVerdict(status, extender_verdict.reasons, explicit=False)
        if not said and not self._elsewhere:
            return statuses
        elsewhere = tuple(self._elsewhere.values())
        return statuses.with_extenders(said, elsewhere)

    def _node(self, passed: NodesPassingExtenders, row: int) -> Node:
        return passed.objects.get(row) or self._cluster.nodes.objects[row]

    def _after(
        self, extender: Extender, before: NodesPassingExtenders, result: ExtenderFilterResult
    ) -> NodesPassingExtenders:
        row_of = self._cluster.nodes.row
        for code, failed in (
            (Code.UNSCHEDULABLE, result.failed),
            (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, result.failed_and_unresolvable),
        ):
            for name, message in failed.items():
                status = Status(code, (message,), EXTENDER_NAME)
                if name in row_of:
                    self._said[row_of[name]] = ExtenderVerdict(status, (_reason(extender, message),))
                else:
                    self._elsewhere[name] = status
        unknown = [name for name in result.nodes if name not in row_of]
        if unknown:
            effect = f"it returns nodes that are not in the cluster, which are ignored: {', '.join(unknown[:3])}"
            self._state.not_modelled.append(NotModelled(f"the extender {extender.name}", effect))
        relabelled = [
            name
            for name, node in result.objects.items()
            if name in row_of and node.metadata.labels != self._cluster.nodes.objects[row_of[name]].metadata.labels
        ]
        if relabelled:
            effect = f"it returns nodes with other labels, which the scores ignore: {', '.join(relabelled[:3])}"
            self._state.not_modelled.append(NotModelled(f"the extender {extender.name}", effect))
        left = [row_of[name] for name in dict.fromkeys(result.nodes) if name in row_of]
        for row in set(before.rows.tolist()) - set(left):
            self._said.setdefault(row, ExtenderVerdict(Status(), (_reason(extender, ""),), explicit=False))
        objects = {**before.objects, **{row_of[name]: node for name, node in result.objects.items() if name in row_of}}
        return NodesPassingExtenders(
            np.array(left, dtype=np.int64), {row: objects[row] for row in left if row in objects}
        )


def ignored_extender_note(extender: Extender, effect: str) -> NotModelled:
    """Return a note that an extender does not influence the answer, with the effect."""
    return NotModelled(f"the extender {extender.name}", effect)


def _reason(extender: Extender, message: str) -> Reason:
    return Reason(message, ExtenderRejection(extender.name, message))
