"""The search for nodes for members of a pod group that are alike: only the first of them runs a scheduling cycle.

A member sees the cluster in which the members before it are assumed on their nodes. ``ranking`` tells when the
search for its node follows from the previous one.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Rows
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.cycle import schedule_pod
from kschedctl.scheduler.cycle.decision import Decision, DeferredDecision
from kschedctl.scheduler.cycle.pod_group_decision import MemberDecision
from kschedctl.scheduler.cycle.ranking import EffectOfCopies, Prefer, Ranking, effect_of_copies, likeness_of
from kschedctl.scheduler.framework.interface import PluginError
from kschedctl.scheduler.framework.runtime import Framework
from kschedctl.scheduler.framework.status import SUCCESS

# The members of a group during an attempt, in derived clusters: assumed on a node, where the next member sees them.


def assumed(cluster: Cluster, pod: Pod, node: str) -> Cluster:
    """Return the cluster with a pod on a node and without its nomination."""
    return all_assumed(cluster, [(pod, node)])


def all_assumed(cluster: Cluster, pods: Iterable[tuple[Pod, str]]) -> Cluster:
    """Return the cluster with pods on nodes, in this order, and without their nominations."""
    return cluster.with_pods(
        added=[
            replace(pod, spec=replace(pod.spec, node_name=node), status=replace(pod.status, nominated_node_name=""))
            for pod, node in pods
        ]
    )


def without_nominations(cluster: Cluster, pods: Iterable[Pod]) -> Cluster:
    """Return the cluster in which pods do not count on their nominated nodes.

    kube-scheduler reads nominated pods from its queue, and the members of a group are not there while it is tried.
    """
    nominated = [pod for pod in pods if pod.status.nominated_node_name]
    if not nominated:
        return cluster
    return cluster.with_pods(
        added=[replace(pod, status=replace(pod.status, nominated_node_name="")) for pod in nominated]
    )


class AlikeMembers:
    """A member that was decided for by a scheduling cycle, and the members after it that are alike.

    Of several best nodes, the first one by name is chosen. If the first member finds no node, no other one does.

    Args:
        first: The decision for the first of them. It ended without an error, and no plugin refused the node.
        decision: The search for its node. The node is the first of the best nodes.
        after: The framework over the cluster in which the first one is assumed.
        among: The rows of the only nodes to choose from, ascending.
        is_choosy: True if only some of the nodes on which a member fits are scored.
    """

    def __init__(
        self, first: MemberDecision, decision: Decision, after: Framework, among: Rows, *, is_choosy: bool = False
    ) -> None:
        self._first = first
        self._is_choosy = is_choosy
        self._decision = decision
        self._placed = _Placed(after, among)
        self._last = first.node
        self._likeness = likeness_of(decision.pod)
        self._effect: EffectOfCopies | None = None
        self._ranking: Ranking | None = None
        self._ended = bool(decision.pod.status.nominated_node_name)

    @property
    def framework(self) -> Framework:
        """The framework over the cluster in which all of these members are assumed."""
        return self._placed.framework(len(self._placed.pods))

    def decide(self, pod: Pod, n_left: int, prefer: Prefer | None = None) -> MemberDecision | None:
        """Decide for the next member.

        Args:
            n_left: The number of members that are still to be tried, with this one.
            prefer: Returns the nodes to score, of those on which the member fits; by default all.

        Returns: ``None`` if a scheduling cycle has to decide: the member differs, is the first one without a node,
            or its results depend on more than the nodes of the members before it.
        """
        if self._ended or likeness_of(pod) != self._likeness:
            return None
        if self._effect is None:
            self._effect = effect_of_copies(self._decision)
        node = self._next_node(n_left, self._effect, prefer) if self._effect is not None and self._last else ""
        if self._effect is None or (self._last and not node):
            self._ended = True
            return None
        placed, n_before = self._placed, len(self._placed.pods)
        search = DeferredDecision(lambda: placed.decide(pod, n_before, prefer))
        if node:
            placed.pods.append((pod, node))
            self._last = node
        return replace(self._first, pod=pod, search=search, node=node)

    def _next_node(self, n_left: int, effect: EffectOfCopies, prefer: Prefer | None) -> str:
        if self._ranking is None:
            if self._decision.scores is None:
                return ""
            try:
                self._ranking = Ranking(self._decision, effect, is_choosy=self._is_choosy)
            except PluginError:
                return ""
        if not self._ranking.take(self._decision.cluster.nodes.row[self._last], n_left, prefer):
            return ""
        return self._ranking.first_best()


class _Placed:
    """Pods with their nodes, in the order in which they were placed after the first one."""

    def __init__(self, after_first: Framework, among: Rows) -> None:
        self.pods: list[tuple[Pod, str]] = []
        self._after_first = after_first
        self._among = among

    def framework(self, n_placed: int) -> Framework:
        """Return the framework over the cluster in which the first ``n_placed`` pods are assumed."""
        first = self._after_first
        return first.moved(all_assumed(first.cluster, self.pods[:n_placed])) if n_placed else first

    def decide(self, pod: Pod, n_before: int, prefer: Prefer | None) -> Decision:
        """Run the scheduling cycle of a pod after ``n_before`` of the placed pods."""
        framework = self.framework(n_before)
        return schedule_pod(framework, pod, among=self._among, run_post_filter=False, gate=SUCCESS, prefer=prefer)
