"""The outcome for pods that a suggestion deletes: their controllers recreate them, and the new pods need room, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.placed_pods import on_node, pod_at
from kschedctl.common.wording import listed
from kschedctl.diagnosis.why.proof import Suggestion
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import Release
from kschedctl.scheduler.cycle.cycle import schedule_pod
from kschedctl.trials.simulate.world import is_recreated, replacement
from kschedctl.trials.whatif.pods import move_pods, successor


def recreated_pods(cluster: Cluster, keys: Iterable[str], *, release: Release) -> dict[str, Pod]:
    """Return the new pods that controllers create for deleted pods, by the deleted pod's ``namespace/name``.

    Parameters
    ----------
    cluster : Cluster
        The cluster before the deletion.
    keys : iterable of str
        The deleted pods.
    release : Release
        The Kubernetes release whose API server admits the new pods.
    """
    new: dict[str, Pod] = {}
    taken = {name for _, name in cluster.pods.index}
    for key in keys:
        namespace, _, name = key.partition("/")
        pod = pod_at(cluster, cluster.pods.index[namespace, name])
        if is_recreated(pod):
            new[key] = replacement(successor(pod, cluster, release=release), taken.__contains__)
            taken.add(new[key].name)
    return new


def pending_words(keys: Sequence[str]) -> Iterator[str]:
    """Yield the statement that the new pods of some deleted pods stay pending; nothing if there are none."""
    if keys:
        new, stay = ("the new pod", "stays") if len(keys) == 1 else ("the new pods", "stay")
        yield f"{new} of {listed(keys)} {stay} pending"


def recreation_consequences(suggestion: Suggestion) -> Iterator[str]:
    """Yield the outcome for the pods that a suggestion deletes, once the pod that it helps has its node."""
    after = suggestion.decision
    keys = [key for remedy in suggestion.remedies for key in remedy.evicts]
    if not keys or not after.schedulable:
        return
    new = recreated_pods(suggestion.before.cluster, keys, release=suggestion.before.release)
    placed = after.cluster.with_pods(added=[on_node(after.pod, suggestion.nodes[0])])
    preempting, pending = [], []
    for key, pod in new.items():
        if pod.spec.scheduler_name != after.pod.spec.scheduler_name:
            continue
        cluster = move_pods(placed, added=[pod]).cluster
        stored = cluster.pods.pod(cluster.pods.index[pod.namespace, pod.name])
        again = schedule_pod(after.framework.moved(cluster), stored)
        if again.preemption is not None and again.preemption.nominated:
            preempting.append(key)
        elif not again.schedulable:
            pending.append(key)
    yield from pending_words(pending)
    if preempting:
        new_pods, preempt = ("the new pod", "preempts") if len(preempting) == 1 else ("the new pods", "preempt")
        yield f"{new_pods} of {listed(preempting)} {preempt} other pods in turn"
