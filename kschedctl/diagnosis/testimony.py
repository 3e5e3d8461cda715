"""The deeds and words of other components about a pod that is not scheduled, added to the first cause and its cures."""

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

import msgspec
from msgspec.structs import replace

from kschedctl.autoscaler.expansion import Expansion
from kschedctl.common.wording import listed
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis, Situation, all_rows
from kschedctl.diagnosis.evidence import node_autoscalers
from kschedctl.diagnosis.evidence.events import MessageKind, events_about, meaning, said
from kschedctl.diagnosis.evidence.origin import (
    RaisedRequest,
    added_selectors,
    has_added_affinity,
    maker_of,
    raised_requests,
)
from kschedctl.diagnosis.evidence.resizes import PendingResize, pending_resizes, withdrawn
from kschedctl.objects.karpenter import NODE_POOL_LABEL, NodePool
from kschedctl.objects.pod import Pod
from kschedctl.objects.resources import amount_of, format_amount
from kschedctl.objects.selectors import IN, Requirement
from kschedctl.objects.volume import PersistentVolumeClaim
from kschedctl.scheduler.framework.remedy import Patch, Remedy, pointer, remove_operation
from kschedctl.scheduler.framework.risk import RemedyScope, Risk
from kschedctl.scheduler.volumes.claims import claim_uses

_FIT: Final = "NodeResourcesFit"
#: At most this many resizes are proposed for withdrawal, and this many nodes are looked at for their pools.
_MOST: Final = 3
_MOST_NODES: Final = 1000


class Testimony(msgspec.Struct, frozen=True, kw_only=True):
    """The part that one source of evidence adds to a cause."""

    #: A clause for the cause; empty if there is nothing to say in the first line.
    clause: str = ""
    evidence: tuple[str, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    advice: tuple[Advice, ...] = ()
    #: The answer of an autoscaler of nodes.
    expansion: Expansion | None = None


def with_testimony(situation: Situation, found: list[Diagnosis]) -> list[Diagnosis]:
    """Return the causes for which a pod is not scheduled, with what other components did added to the first."""
    if not found:
        return found
    heard = [one for source in _SOURCES for one in source(situation)]
    if not heard:
        return found
    first, *rest = found
    clauses = [one.clause for one in heard if one.clause and one.clause not in first.cause]
    evidence = (line for one in heard for line in one.evidence)
    first = replace(
        first,
        cause="; ".join((first.cause, *clauses)),
        evidence=tuple(dict.fromkeys((*first.evidence, *evidence))),
        remedies=(*(remedy for one in heard for remedy in one.remedies), *first.remedies),
        advice=(*first.advice, *(advice for one in heard for advice in one.advice)),
        expansion=next((one.expansion for one in heard if one.expansion is not None), None),
    )
    return [first, *rest]


def undone_by_others(situation: Situation) -> Callable[[Remedy], bool]:
    """Return a test for changes of the pod that an autoscaler or admission undoes for the next pod of its owner."""
    cluster, pod = situation.cluster, situation.pod
    resources = {one.resource for one in raised_requests(cluster, pod) if one.autoscaler is not None}
    selectors = {pointer("spec", "nodeSelector", one.key) for one in added_selectors(cluster, pod) if one.setter}
    if selectors:
        selectors.add(pointer("spec", "nodeSelector"))

    def test(remedy: Remedy) -> bool:
        if remedy.scope is not RemedyScope.POD:
            return False
        paths = (each["path"] for one in remedy.changes if isinstance(one, Patch) for each in one.patch)
        return remedy.resource in resources or any(path in selectors for path in paths)

    return test


def _resizes(situation: Situation) -> Iterator[Testimony]:
    """Yield the resizes that hold the room that the pod lacks on nodes that reject it for nothing else."""
    if not situation.filtered:
        return
    others = [plugin for plugin in situation.rejected if plugin != _FIT]
    nodes = situation.in_reach & situation.rejected_by(_FIT) & ~situation.rejected_by(*others)
    cluster, by_node = situation.cluster, defaultdict[int, list[PendingResize]](list)
    for resize in pending_resizes(cluster) if nodes.any() else ():
        if nodes[resize.row] and any(resize.freed(name) for name in situation.requests):
            by_node[resize.row].append(resize)
    enough = (each for row, found in by_node.items() for each in _enough(situation, row, found))
    for resizes, short in islice(enough, _MOST):
        on = cluster.nodes.names[resizes[0].row]
        words = [(cluster.pods.key(each.index), each) for each in resizes]
        yield Testimony(
            clause=f"on {on} {listed([f'{key} {each.words(short)}' for key, each in words])}",
            evidence=tuple(f"{key}: {each.message}" for key, each in words if each.message),
            remedies=(withdrawn(cluster, resizes),),
        )


def _enough(
    situation: Situation, row: int, found: list[PendingResize]
) -> Iterator[tuple[list[PendingResize], list[str]]]:
    """Yield the resizes on a node whose withdrawal makes room for the pod: single ones, or all of them together."""
    short = [name for name in situation.requests if situation.short_of(name)[row]]
    lacking = {
        name: situation.requests[name] - int(situation.offered(name)[row] - situation.used(name)[row]) for name in short
    }

    def suffices(resizes: list[PendingResize]) -> bool:
        return all(sum(each.freed(name) for each in resizes) >= amount for name, amount in lacking.items())

    single = [[each] for each in found if suffices([each])]
    for resizes in single or ([found] if suffices(found) else []):
        yield resizes, short


def _raised(situation: Situation) -> Iterator[Testimony]:
    """Yield the requests that nodes lack room for and that the pod's template does not ask for."""
    if not situation.filtered:
        return
    for one in raised_requests(situation.cluster, situation.pod):
        name = one.resource
        nodes = situation.in_reach & situation.short_of(name)
        # Without the raise it would fit on one of them.
        would_fit = (
            situation.offered(name) - situation.used(name) >= situation.requests[name] - one.wanted + one.written
        )
        if (nodes & would_fit).any():
            yield _raise(situation, one)


def _raise(situation: Situation, one: RaisedRequest) -> Testimony:
    name, pod = one.resource, situation.pod
    kind, namespace, owner = situation.workload
    wants, written = amount_of(name, one.wanted), format_amount(name, one.written) if one.written else "no request"
    cap = " (maxAllowed is not set)" if one.autoscaler is not None and not one.is_capped else ""
    by = f": {one.setter} sets it{cap}" if one.setter else " (admission set it, or the template has changed since)"
    if one.setter.startswith("container"):
        where = f"its annotation {one.annotation}" if one.annotation else "the configuration of what injects it"
        lower = Advice(
            summary=f"lower the {name} request of the injected container {one.container} by {where}",
            risk=Risk.REDUCED,
            untried="the injector sets the requests of new pods",
            command=f"# in the pod template of {kind} {namespace}/{owner}: annotation {one.annotation}"
            if one.annotation
            else "kubectl get mutatingwebhookconfigurations",
        )
        clause = f"{one.setter} and asks for {wants} beside the template of {kind} {namespace}/{owner}"
        return Testimony(clause=clause, advice=(lower,))
    clause = f"container {one.container} asks for {wants} instead of the template's {written}{by}"
    rows = all_rows(situation.in_reach)
    free = max((int(situation.offered(name)[row] - situation.used(name)[row]) for row in rows), default=0)
    room = free - (situation.requests[name] - one.wanted)
    if one.autoscaler is not None:
        where = f"{one.autoscaler.namespace}/{one.autoscaler.name}"
        summary = f"set maxAllowed of VerticalPodAutoscaler {where} to {amount_of(name, room)} or less"
        advice = Advice(
            summary=f"{summary}, then delete the pod, so that it is made anew",
            risk=Risk.MISTAKE,
            untried="the VerticalPodAutoscaler sets the requests of new pods",
            command=f"kubectl edit vpa -n {one.autoscaler.namespace} {one.autoscaler.name}    # spec.resourcePolicy",
        )
    elif one.setter.startswith("LimitRange"):
        advice = Advice(
            summary=f"set a request of its own for {name} in container {one.container} of {kind} {namespace}/{owner}, "
            f"so that the default of {one.setter} does not apply",
            risk=Risk.MISTAKE,
            untried="the API server sets the default for new pods",
            command=f"kubectl edit {kind.lower()} -n {namespace} {owner}",
        )
    else:
        advice = Advice(
            summary=f"find what sets {wants} instead of the template's {written} in pods of {kind} {namespace}/{owner}",
            risk=Risk.MISTAKE,
            untried="the snapshot has no object that sets it",
            command=f"kubectl get pod -n {pod.namespace} {pod.name} -o yaml",
        )
    return Testimony(clause=clause, advice=(advice,))


def _selectors(situation: Situation) -> Iterator[Testimony]:
    """Yield the labels of the node selector that admission added, if they keep the pod away from nodes."""
    labels = situation.cluster.nodes.labels
    for one in added_selectors(situation.cluster, situation.pod) if situation.filtered else ():
        if labels.matches((Requirement(one.key, IN, (one.value,)),)).all():
            continue
        kind, namespace, name = situation.workload
        clause = f"{one.key}={one.value} is not in the template of {kind} {namespace}/{name}"
        if not one.setter:
            yield Testimony(clause=f"{clause}: admission added it, or the template has changed since")
            continue
        without = situation.context().pod_patch(
            f"{one.cure}; then delete the pod, so that it is made anew",
            remove_operation("spec", "nodeSelector", one.key),
            risk=Risk.MISTAKE,
            family=("selector", one.key),
        )
        # The change is made at the namespace, not in the pod's template.
        remedy = dataclasses.replace(without, scope=RemedyScope.CLUSTER, command=one.command)
        yield Testimony(clause=f"{clause}: {one.setter}", remedies=(remedy,))


def _affinity(situation: Situation) -> Iterator[Testimony]:
    """Yield the required node affinity that the template does not have, if it keeps the pod away from nodes."""
    if not situation.rejected_by("NodeAffinity").any() or not has_added_affinity(situation.cluster, situation.pod):
        return
    clause = f"this node affinity is not in the template of {situation.owner_text}"
    yield Testimony(
        clause=f"{clause}: admission added it, or the template has changed since",
        advice=(
            Advice(
                summary=f"find the webhook or policy that adds the node affinity to pods of {situation.owner_text}, "
                "and correct it there",
                risk=Risk.MISTAKE,
                untried="the snapshot does not show which one adds it",
                command="kubectl get mutatingwebhookconfigurations",
            ),
        ),
    )


def _maker(situation: Situation) -> Iterator[Testimony]:
    """Yield the object of another project that makes the pod's workload, and would undo a change of it."""
    maker = maker_of(situation.cluster, situation.pod)
    if maker is not None:
        of, name = maker
        yield Testimony(evidence=(f"{situation.owner_text} is made by {of} {name}: change it there",))


def _node_autoscaler(situation: Situation) -> Iterator[Testimony]:
    """Yield the node that an autoscaler adds for the pod, or why it adds none."""
    found = node_autoscalers.expansion_of(situation)
    if found is not None:
        yield Testimony(
            clause=node_autoscalers.words_of(situation, found),
            remedies=tuple(node_autoscalers.remedies_of(found)),
            advice=tuple(node_autoscalers.advice_of(found)),
            expansion=found,
        )
    elif not situation.cluster.list(NodePool) and situation.cluster.nodes.labels[NODE_POOL_LABEL].values:
        lacking = "the snapshot has nodes of Karpenter and no NodePools: what Karpenter would add is not known"
        yield Testimony(evidence=(lacking,))


#: Messages of node autoscalers about a pod for which they add no node, from the special to the general.
_NO_NODE: Final = (
    MessageKind.of(
        "largest-group",
        r"didn't trigger scale-up.*max node group size reached",
        "the cluster autoscaler adds no node, as the node groups that fit are at their maximum size",
        (
            "raise the maximum size of the node group that fits, so that the cluster autoscaler adds a node",
            Risk.MISTAKE,
            "# raise the maximum size of the node group in the cloud, or in the settings of the cluster autoscaler",
        ),
    ),
    MessageKind.of(
        "failed-scale-up",
        r"didn't trigger scale-up.*in backoff after failed scale-up",
        "the cluster autoscaler could not add a node, and pauses",
        (
            "find why the cloud provides no node: its quota, or no machines of this type",
            Risk.MISTAKE,
            "kubectl describe configmap -n kube-system cluster-autoscaler-status",
        ),
    ),
    MessageKind.of(
        "incompatible-node-pool",
        r'incompatible with nodepool "(?P<pool>[^"]+)".*?(?P<why>did not tolerate [^;,]+|no instance type [^{;]+'
        r"(?:\{[^}]*\})?|incompatible requirements, [^;]+|all available instance types exceed limits[^;]*)",
        "NodePool {pool} of Karpenter can add no node for it: {why}",
        (
            "change the requirements or limits of NodePool {pool}, so that Karpenter can add a node for the pod",
            Risk.MISTAKE,
            "kubectl edit nodepools.karpenter.sh {pool}",
        ),
    ),
)


def _autoscalers(situation: Situation) -> Iterator[Testimony]:
    """Yield the reason why an autoscaler adds no node for the pod, as its newest Event about the pod says."""
    pod = situation.pod
    if node_autoscalers.expansion_of(situation) is not None:
        return
    for event in events_about(situation.cluster, Pod.__name__, pod.namespace, pod.name):
        found = meaning(event.message, _NO_NODE, "the autoscaler adds nodes outside the scheduler")
        if found is not None:
            yield Testimony(clause=found.phrase, advice=found.advice)
            return


def _events(situation: Situation) -> Iterator[Testimony]:
    """Yield the newest Warning about the pod, its claims and its owner."""
    pod, cluster = situation.pod, situation.cluster
    owner = pod.metadata.controller
    objects = [
        (Pod.__name__, pod.namespace, pod.name),
        *((PersistentVolumeClaim.__name__, pod.namespace, use.claim) for use in claim_uses(pod)),
        *(((owner.kind, pod.namespace, owner.name),) if owner is not None else ()),
    ]
    lines = [said(event) for each in objects for event in events_about(cluster, *each)[:1]]
    if lines:
        yield Testimony(evidence=tuple(lines))


#: The sources, in the order in which their clauses follow the cause.
_SOURCES: Final[tuple[Callable[[Situation], Iterator[Testimony]], ...]] = (
    _resizes,
    _raised,
    _selectors,
    _affinity,
    _node_autoscaler,
    _autoscalers,
    _maker,
    _events,
)
