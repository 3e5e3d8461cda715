"""Karpenter's answer for one pod: the node that it would launch, or what each NodePool has against it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace as changed
from datetime import datetime, timedelta
from functools import cached_property, lru_cache
from itertools import islice
from operator import itemgetter
from typing import Final

from msgspec.structs import replace

from kschedctl.autoscaler.catalog import SEEN, seen_types
from kschedctl.autoscaler.expansion import Expansion, GroupChange, GroupRefusal, Repair
from kschedctl.autoscaler.instance_types import InstanceType
from kschedctl.autoscaler.karpenter.changes import changes_for, taken_by
from kschedctl.autoscaler.karpenter.claims import Fit, Obstacle, Refusal
from kschedctl.autoscaler.karpenter.new_nodes import NEW, node_of, offer_of
from kschedctl.autoscaler.karpenter.pods import as_unschedulable, is_provisionable
from kschedctl.autoscaler.karpenter.provisioner import Plan, Round, Settings
from kschedctl.autoscaler.karpenter.reasons import TOO_FEW_TYPES, reason_of, why_unusable, without_types
from kschedctl.autoscaler.karpenter.state import completed, is_starting, state_nodes, waiting_words
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.placed_pods import pending_pods
from kschedctl.common.wording import listed
from kschedctl.objects.karpenter import NodeClaim, NodePool, condition, holds
from kschedctl.objects.pod import DEFAULT_TOLERATIONS, Pod
from kschedctl.objects.selectors import IN
from kschedctl.objects.well_known import INSTANCE_TYPE

NAME: Final = "Karpenter"
#: Pools at their limit come closest to adding a node, those of other machines least.
_RANKS: Final = {Obstacle.LIMIT: 0, Obstacle.NODE_LIMIT: 0, Obstacle.TYPES: 2}
#: In a changed cluster with more pending pods, only the asked one takes part in the round.
_MANY_PENDING: Final = 200
#: The time after which a NodeClaim that is not launched is deleted (nodeclaim/lifecycle/liveness.go).
_LAUNCH: Final = timedelta(minutes=5)
_GET_CLAIMS: Final = "kubectl get nodeclaims.karpenter.sh"
#: Changes that are tried for a pod.
_MOST_CHANGES: Final = 3


def expansion(cluster: Cluster, pod: Pod) -> Expansion | None:
    """Return Karpenter's answer for a pod that no node of the cluster takes; ``None`` if there is no NodePool.

    Instance types are those that the cluster shows.
    """
    if not cluster.list(NodePool):
        return None
    if pod.spec.scheduling_gates:
        return Expansion(autoscaler=NAME, held="it waits until the pod's scheduling gates are gone")
    marked = as_unschedulable(pod, cluster.taken_at)
    if not is_provisionable(marked):
        return Expansion(autoscaler=NAME, held="it launches no nodes for static pods and pods of DaemonSets")
    answers, asked = _asked(cluster, pod, marked)
    return answers.answer(asked)


def node_pool_for(cluster: Cluster, pod: Pod) -> str:
    """Return the NodePool of the node that Karpenter would launch for a pod; empty for none."""
    marked = as_unschedulable(pod, cluster.taken_at)
    if not cluster.list(NodePool) or pod.spec.scheduling_gates or not is_provisionable(marked):
        return ""
    answers, asked = _asked(cluster, pod, marked)
    return next((each.pool.name for each in answers.plan.nodes if asked.key in each.pods), "")


def _asked(cluster: Cluster, pod: Pod, marked: Pod) -> tuple["Answers", Pod]:
    """Return the answers of the round that a pod takes part in, and the pod as it is there."""
    few = cluster.is_as_read or len(pending_pods(cluster)) <= _MANY_PENDING
    waiting = completed(cluster, pods=few)
    own = _own_pod(waiting, pod)
    if own is None:
        waiting = waiting.with_pods(added=(marked,))
    return _answers(waiting, "" if few else pod.key), own or marked


def _own_pod(cluster: Cluster, pod: Pod) -> Pod | None:
    """Return the cluster's own pod if it is the asked one but for what admission adds; ``None`` otherwise."""
    index = cluster.pods.index.get((pod.namespace, pod.name))
    own = cluster.pods.pod(index) if index is not None else None
    if own is None or not is_provisionable(own):
        return None
    # What admission adds to the asked pod does not matter to Karpenter.
    spec = replace(own.spec, priority=pod.spec.priority, preemption_policy=pod.spec.preemption_policy)
    tolerations = tuple(each for each in pod.spec.tolerations if each not in DEFAULT_TOLERATIONS)
    others = tuple(each for each in own.spec.tolerations if each not in DEFAULT_TOLERATIONS)
    same = own.metadata.labels == pod.metadata.labels and tolerations == others
    return own if same and replace(spec, tolerations=pod.spec.tolerations) == pod.spec else None


class Answers:
    """The answers for the pods of a cluster by one round, which is computed once.

    Args:
        only: The only pending pod that takes part, as ``namespace/name``; empty for all.
        tries: True to try the changes of NodePools that would help a pod.
    """

    def __init__(
        self, cluster: Cluster, types: Sequence[InstanceType] = (), *, only: str = "", tries: bool = True
    ) -> None:
        self._cluster = cluster
        self._types = types or seen_types(cluster)
        self._source = "" if types else SEEN
        self._settings = Settings(now=cluster.taken_at or Settings().now, only=only)
        self._tries = tries
        self._answers: dict[str, Expansion] = {}

    @cached_property
    def _first(self) -> Round:
        return Round(self._cluster, self._types, self._settings)

    @cached_property
    def plan(self) -> Plan:
        """The nodes that the round launches, and the fates of all pods."""
        return Round(self._cluster, self._types, self._settings).solve()

    def answer(self, pod: Pod) -> Expansion:
        """Return the answer for a pod of the cluster."""
        if pod.key not in self._answers:
            self._answers[pod.key] = self._answer(pod)
        return self._answers[pod.key]

    def _answer(self, pod: Pod) -> Expansion:
        cluster, types, plan = self._cluster, self._types, self.plan
        held = _held(cluster, pod, plan)
        if held:
            stuck = _stuck_claims(cluster, self._settings.now) if plan.waits else ()
            return Expansion(autoscaler=NAME, held=held, repairs=tuple(stuck))
        if pod.key in plan.placed:
            return _counted_on(cluster, plan.placed[pod.key])
        pools = sorted(cluster.list(NodePool), key=lambda each: (-(each.spec.weight or 0), each.name))
        said = {pool.name: answer for pool, answer in self._first.alone(pod.key)}
        node = next((each for each in plan.nodes if pod.key in each.pods), None)
        refusals: list[tuple[int, GroupRefusal]] = []
        changes: list[GroupChange] = []
        repairs: list[Repair] = []
        for pool in pools:
            answer = said.get(pool.name)
            if isinstance(answer, Fit):
                continue
            unusable = why_unusable(pool)
            if answer is None and not unusable:
                answer = without_types(pod, pool)
            # The cloud may have instance types that the cluster does not show.
            may_have_more = bool(self._source) and not _names_types(pool)
            is_open = may_have_more and not unusable and (answer is None or answer.obstacle is Obstacle.TYPES)
            filtered = plan.refusals.get(pool.name, "")
            if filtered.endswith("minValues incompatibility") and answer is None:
                unusable = TOO_FEW_TYPES
            reason = unusable or reason_of(cluster, pod, pool, answer, types)
            text = answer.text if answer is not None else ""
            refusal = GroupRefusal(group=f"NodePool {pool.name}", reason=reason, said=text, is_open=is_open)
            refusals.append((_RANKS.get(answer.obstacle, 1) if answer is not None else 1, refusal))
            if _is_broken(pool):
                repairs.append(
                    Repair(f"repair NodePool {pool.name}, which {unusable}", _describe("nodepools", pool.name))
                )
            if self._tries and answer is not None and node is None and len(changes) < _MOST_CHANGES:
                settings = changed(self._settings, only=pod.key)
                changes += islice(changes_for(cluster, pod, pool, answer, types, settings), 1)
        willing = [pool for pool in pools if node is None and isinstance(said.get(pool.name), Fit)]
        if willing:
            text = plan.errors.get(pod.key, "")
            held = f"nodes for other pending pods leave none for it: {text}"
            if not text or "limits" in text:
                held = f"nodes for other pending pods use up the limits of {listed([_named(each) for each in willing])}"
                full = Refusal(Obstacle.LIMIT)
                for pool in willing[: _MOST_CHANGES - len(changes)] if self._tries else ():
                    taken = taken_by(pool, plan)
                    changes += islice(changes_for(cluster, pod, pool, full, types, self._settings, taken), 1)
        alike = self._alike(pod) if node is not None else frozenset()
        chosen = [each for each in plan.nodes if node and each.pool is node.pool and not alike.isdisjoint(each.pods)]
        return Expansion(
            autoscaler=NAME,
            offer=offer_of(node) if node is not None else None,
            nodes=tuple(node_of(each, f"{NEW}{each.pool.name}-{number}") for number, each in enumerate(chosen, 1)),
            served=len(alike.intersection(key for each in chosen for key in each.pods)),
            alike=len(alike),
            refusals=tuple(each for _, each in sorted(refusals, key=itemgetter(0))),
            changes=tuple(changes),
            repairs=tuple(repairs) if node is None else (),
            held=held,
            source=self._source,
        )

    def _alike(self, pod: Pod) -> frozenset[str]:
        """Return the pending pods of the same controller."""
        pods, owner = self._cluster.pods, pod.metadata.controller
        if owner is None or not owner.uid:
            return frozenset((pod.key,))
        others = (index for index in pending_pods(self._cluster) if (own := pods.owner(index)) and own.uid == owner.uid)
        return frozenset((pod.key, *map(pods.key, others)))


@lru_cache(maxsize=2)
def _answers(cluster: Cluster, only: str) -> Answers:
    return Answers(cluster, only=only)


def _counted_on(cluster: Cluster, name: str) -> Expansion:
    """Return the answer for a pod for which a node is there or on its way."""
    state = next(each for each in state_nodes(cluster).nodes if each.name == name)
    starts = state.node is None or not state.is_initialized or is_starting(state.node)
    what = f"{'NodeClaim' if state.node is None else 'node'} {name}"
    wait = Repair(f"wait until {what} is ready", f"{_GET_CLAIMS},nodes --watch", waits=True)
    return Expansion(
        autoscaler=NAME,
        held=f"it counts the pod on {what}" + (", which is starting" if starts else ", where it fits by its rules"),
        repairs=(wait,) if starts else (),
    )


def _names_types(pool: NodePool) -> bool:
    """Report whether a pool allows named instance types only: others that the cloud has do not count."""
    return any(each.key == INSTANCE_TYPE and each.operator == IN for each in pool.spec.template.spec.requirements)


def _held(cluster: Cluster, pod: Pod, plan: Plan) -> str:
    if plan.waits:
        return f"it decides for no pod as long as {waiting_words(cluster)}"
    problem = plan.ignored.get(pod.key)
    return f"it leaves the pod out: {problem}" if problem else ""


def _stuck_claims(cluster: Cluster, now: datetime) -> Iterator[Repair]:
    for claim in cluster.list(NodeClaim):
        if claim.status.provider_id:
            continue
        launched, created = condition(claim.status.conditions, "Launched"), claim.metadata.creation_timestamp
        failed = launched is not None and launched.status != "True" and launched.message
        if not failed and created is not None and now - created < _LAUNCH:
            yield Repair(f"wait until NodeClaim {claim.name} is launched", f"{_GET_CLAIMS} --watch", waits=True)
        else:
            summary = f"find out why NodeClaim {claim.name} is not launched, and repair that or delete it"
            yield Repair(summary, _describe("nodeclaims", claim.name))


def _describe(plural: str, name: str) -> str:
    return f"kubectl describe {plural}.karpenter.sh {name}"


def _named(pool: NodePool) -> str:
    return f"NodePool {pool.name}"


def _is_broken(pool: NodePool) -> bool:
    deleted, static = pool.metadata.deletion_timestamp is not None, pool.spec.replicas is not None
    return not deleted and not static and not holds(pool.status.conditions, "Ready")
