"""The consequences of attempts: a pod is bound, or nominated, its victims are evicted, and other pods are notified."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from msgspec.structs import replace

from kschedctl.common.clock import VirtualClock
from kschedctl.controllers.workloads.template import uid_of
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.cycle_state import PodsToActivate
from kschedctl.scheduler.framework.events import ASSIGNED_POD_DELETE, ObjectChange, changed_objects, same_pod
from kschedctl.scheduler.framework.runtime import run_bind, run_permit, run_pre_bind, run_reserve, run_unreserve
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.preemption.select_candidate import lower_priority_nominated_pods
from kschedctl.trials.simulate.alike_pods import RankedDecision, code_of
from kschedctl.trials.simulate.batch import GATE, OpportunisticBatch
from kschedctl.trials.simulate.choice import Choose, first_by_name
from kschedctl.trials.simulate.pods import on_node, pod_at, without_nomination
from kschedctl.trials.simulate.queued_pod import QueuedPodInfo
from kschedctl.trials.simulate.simulated_cluster import SimulatedCluster
from kschedctl.trials.simulate.timeline import TimelineEvent
from kschedctl.trials.simulate.world import World


class Consequences(SimulatedCluster):
    """A simulated cluster in which attempts have consequences.

    Parameters
    ----------
    scheduler, clock, world
        As for ``SimulatedCluster``.
    choose : callable, optional
        The tie-breaking rule; by default the first node by name.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        *,
        clock: VirtualClock | None = None,
        choose: Choose = first_by_name,
        world: World | None = None,
    ) -> None:
        super().__init__(scheduler, clock=clock, world=world)
        self._choose = choose
        self._batches: dict[str, OpportunisticBatch] = {}
        self._waiting: dict[str, tuple[QueuedPodInfo, Decision, str]] = {}

    def _place(self, info: QueuedPodInfo, search: Decision | RankedDecision, node: str) -> tuple[str, bool]:
        """Put a pod on its node and bind it.

        Returns
        -------
        message : str
            The reason why it could not be bound; the pod is back in the queue then. Empty otherwise.
        waits : bool
            True if a Permit plugin lets it wait.
        """
        bound = on_node(info.pod, node)
        # Permit plugins see the cluster without the pod, as in kube-scheduler's snapshot.
        permitting = self.scheduler.framework(info.pod.spec.scheduler_name)
        # Nothing reads the phase before the pod is bound; setting it here saves a second, equally costly cluster
        # change.
        self._move(self.cluster.with_pods(added=[self._world.starts(bound) if self._world.kubelet else bound]))
        if isinstance(search, RankedDecision):
            # The plugins of the binding cycle have nothing to do.
            self.queue.done(info)
            self._take_bound(info, node)
            return "", False
        framework, state = search.framework, search.state
        status = run_reserve(framework, state, info.pod, node)
        if status.code is Code.SUCCESS:
            # A try of the pod's group ran the Permit plugins as well.
            state.discard(PodsToActivate)
            status, waits = run_permit(permitting, state, bound, node)
            wanted = state.read(PodsToActivate)
            # Most members of a large gang are being tried, and are in no queue.
            if wanted is not None and self.queue.has_waiting:
                for index in wanted.pods.tolist():
                    self.queue.activate(permitting.cluster.pods.key(index))
            if status.code is Code.WAIT:
                self.scheduler.waiting_pods.add(bound, waits, self.clock.now())
                self._waiting[uid_of(bound)] = info, search, node
                self._note(info.pod, TimelineEvent.WAITING, node, f"for {', '.join(waits)}")
                return "", True
            if status.code is not Code.SUCCESS:
                run_unreserve(framework, state, info.pod, node)
        if status.code is Code.SUCCESS:
            status = self._bind(info, search, node)
        return ("" if status.code is Code.SUCCESS else self._forget(info, status)), False

    def _pick(self, info: QueuedPodInfo, search: Decision | RankedDecision, choose: Choose) -> str:
        """Return the node for a pod: the one that the batch hints at, or one of the best nodes."""
        if not self.scheduler.release.enabled(GATE):
            return choose(info.pod, search.best)
        batch = self._batches.setdefault(info.pod.spec.scheduler_name, OpportunisticBatch())
        hinted = ""
        nodes = batch.hint(search, info.signature, self.queue.cycles, self.now())
        if nodes:
            hinted = choose(info.pod, nodes)
            batch.take(search.framework, hinted)
        fits = hinted and code_of(search, self.cluster.nodes.row[hinted]) is Code.SUCCESS
        taken = hinted if fits and not info.pod.status.nominated_node_name else choose(info.pod, search.best)
        batch.store(search, info.signature, hinted, taken, self.queue.cycles, self.now())
        return taken

    def _bind(self, info: QueuedPodInfo, decision: Decision, node: str) -> Status:
        """Run the binding cycle from PreBind on; the pod already has its node in the simulated cluster."""
        self.queue.done(info)
        status = Status()
        for step in (run_pre_bind, run_bind):
            if status.code is Code.SUCCESS:
                status = step(decision.framework, decision.state, info.pod, node)
        if status.code is not Code.SUCCESS:
            run_unreserve(decision.framework, decision.state, info.pod, node)
            return status
        self._take_in(decision.state.effects)
        self._take_bound(info, node)
        return status

    def _take_bound(self, info: QueuedPodInfo, node: str) -> None:
        """Notify the queue and the disruption controller that a pod was bound."""
        bound = on_node(info.pod, node)
        self._note(bound, TimelineEvent.SCHEDULED, node)
        self._arrived_on_node(bound)
        if info.pod.status.nominated_node_name and self.scheduler.release.queue.binding_ends_nomination:
            self._left_nominated_node(info.pod)

    def _take_in(self, effects: Iterable[ObjectChange]) -> None:
        """Apply the objects that plugins changed to the cluster, and send the events to the queue."""
        changes = list(effects)
        if not changes:
            return
        self._move(self.cluster.with_added(changed_objects(changes)))
        for change in changes:
            self._notify(change)

    def _settle_waiting(self) -> None:
        """Bind the pods that Permit plugins allowed, and put those that were rejected back into the queue."""
        while settled := self.scheduler.waiting_pods.settled():
            # Unreserve plugins of a rejected pod may settle other pods.
            for pod, status in settled:
                self._settle(pod, status)

    def _settle(self, pod: Pod, status: Status) -> None:
        info, decision, node = self._waiting.pop(uid_of(pod))
        if status.code is Code.SUCCESS:
            status = self._bind(info, decision, node)
        else:
            run_unreserve(decision.framework, decision.state, info.pod, node)
        if status.code is not Code.SUCCESS:
            self._note(info.pod, TimelineEvent.FAILED, node, self._forget(info, status))
            self.queue.move_all(ASSIGNED_POD_DELETE, pod, None, partial(_is_other, pod))

    def _forget(self, info: QueuedPodInfo, status: Status) -> str:
        """Put a pod that could not be bound back into the queue; return the reason in the scheduler's words."""
        pod = without_nomination(info.pod)
        self._move(self.cluster.with_pods(added=[pod]))
        info.pod = pod
        info.unschedulable_plugins = {status.plugin} if status.code.rejected else set()
        info.pending_plugins = set()
        self.queue.add_unschedulable(info)
        if not status.code.rejected:
            return status.message
        return f"0/1 nodes are available: 1 {status.message}."

    def _victims(self, decision: Decision, node: str) -> list[Pod]:
        """Return the pods to evict on the chosen node, the most important first."""
        preemption = decision.preemption
        if preemption is None or not node:
            return []
        pods = [pod_at(decision.cluster, victim.pod) for victim in preemption.candidate(node).victims]
        return self._to_evict(pods)

    def _to_evict(self, pods: list[Pod]) -> list[Pod]:
        """Return the pods whose deletion preemption requests: not those that are being deleted already."""
        if self.scheduler.release.queue.skips_terminating_victims:
            return [pod for pod in pods if pod.metadata.deletion_timestamp is None]
        return pods

    def _lower_nominated(self, decision: Decision, node: str, victims: list[Pod]) -> list[Pod]:
        """Return the pods that lose their nomination to the chosen node."""
        if not node or (not victims and self.scheduler.release.queue.skips_terminating_victims):
            return []
        row = self.cluster.nodes.row[node]
        found = lower_priority_nominated_pods(self.cluster, decision.pod, row)
        return [pod_at(self.cluster, index) for index in found.tolist()]

    def _nominate(self, pod: Pod, node: str) -> None:
        """Set a pod's nominated node, or clear it with an empty name, and notify the queue."""
        before = pod.status.nominated_node_name
        if before == node:
            return
        changed = replace(pod, status=replace(pod.status, nominated_node_name=node))
        self._move(self.cluster.with_pods(added=[changed]))
        self.queue.update(pod, changed)
        if before:
            self._left_nominated_node(pod)

    def _left_nominated_node(self, pod: Pod) -> None:
        """Notify pods of lower or equal priority that a pod has left the node it was nominated to."""
        priority = pod.spec.priority or 0
        self.queue.move_all(ASSIGNED_POD_DELETE, pod, None, lambda other: (other.spec.priority or 0) <= priority)

    def _evict(self, preemptor: ApiObject, victims: list[Pod]) -> None:
        """Delete the victims of a pod or a group: all deletions are requested at once, and take the grace period."""
        name = f"{preemptor.namespace}/{preemptor.metadata.name}"
        by = f"by {name}" if isinstance(preemptor, Pod) else f"by pod group {name}"
        for victim in victims:
            self._note(victim, TimelineEvent.PREEMPTED, victim.spec.node_name, by)
        if self._world.grace:
            self.scheduler.preempting.discard(uid_of(preemptor))
            for victim in victims:
                self.delete(victim, preempted=True)
            return
        for i, victim in enumerate(victims):
            # Without grace periods the first victim is gone before the last is requested; only the last lets the
            # preemptor in.
            if i == len(victims) - 1:
                self.scheduler.preempting.discard(uid_of(preemptor))
            self.delete(victim, preempted=True)


def _is_other(pod: Pod, other: Pod) -> bool:
    return not same_pod(pod, other)
