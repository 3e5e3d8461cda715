"""The operands and remedies shared by plugins that count pods per topology domain."""

import dataclasses
from collections.abc import Iterator
from itertools import islice
from typing import Final

from kschedctl.common.wording import listed
from kschedctl.objects.pod import Pod, PodAffinity, PodAffinityTerm, WeightedPodAffinityTerm
from kschedctl.objects.selectors import parse_label_selector
from kschedctl.objects.well_known import HOSTNAME
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.remedy import (
    Remedy,
    RemedyContext,
    add_operation,
    patched,
    remove_operation,
    replace_operation,
)
from kschedctl.scheduler.framework.risk import Risk
from kschedctl.scheduler.plugins.taint_toleration import without_toleration

# Remedies of plugins with topology domains: relax constraints and terms, or label the node.

_DO_NOT_SCHEDULE: Final = "DoNotSchedule"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
#: The weight of a preferred term that was required: the highest.
_WEIGHT: Final = 100
_MOST_SIBLINGS: Final = 200
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
#: The maximum number of label values that are proposed for a node without the label.
_MOST_DOMAINS: Final = 5


def spread_remedies(context: RemedyContext, topology_key: str, skew: int = 0) -> Iterator[Remedy]:
    """Propose to relax or drop the pod's hard spread constraints over a topology key.

    Args:
        topology_key: The key of the label that defines the domains.
        skew: The skew that the node's domain would have; 0 if a larger ``maxSkew`` does not help.
    """
    constraints = context.pod.spec.topology_spread_constraints
    hard = [(i, c) for i, c in enumerate(constraints) if c.when_unsatisfiable == _DO_NOT_SCHEDULE]
    for i, constraint in hard:
        if constraint.topology_key != topology_key:
            continue
        at = ("spec", "topologySpreadConstraints", i)
        what = f"the spread constraint over {topology_key}"
        if skew > constraint.max_skew:
            yield context.pod_patch(
                f"maxSkew {skew} instead of {constraint.max_skew} in {what}",
                replace_operation(skew, *at, "maxSkew"),
                risk=Risk.REDUCED,
                family=("maxSkew", i),
                within=skew,
                once=True,
            )
        yield context.pod_patch(
            f"ScheduleAnyway instead of DoNotSchedule in {what}",
            replace_operation("ScheduleAnyway", *at, "whenUnsatisfiable"),
            risk=Risk.REDUCED,
            family=("ScheduleAnyway", i),
        )
        yield context.pod_patch(f"drop {what}", remove_operation(*at), risk=Risk.DROPPED, family=("drop constraint", i))
    if any(constraint.node_taints_policy == "Honor" for _, constraint in hard):
        # With nodeTaintsPolicy Honor, a toleration may include domains with few pods, which raise the skew elsewhere.
        yield from without_toleration(context)


def term_remedies(context: RemedyContext, topology_key: str) -> Iterator[Remedy]:
    """Propose to drop one of the pod's required terms.

    Anti-affinity terms are dropped only if they have the key ``topology_key``, affinity terms with any key: an existing
    pod counts for affinity only if it matches all terms, so each term influences every topology.
    """
    affinity = context.pod.spec.affinity
    if affinity is not None:
        yield from _without_term(context, "podAffinity", affinity.pod_affinity)
        yield from _without_term(context, "podAntiAffinity", affinity.pod_anti_affinity, topology_key)


def _without_term(
    context: RemedyContext, field: str, affinity: PodAffinity | None, topology_key: str = ""
) -> Iterator[Remedy]:
    if affinity is None:
        return
    for i, term in enumerate(affinity.required_during_scheduling_ignored_during_execution):
        if topology_key in ("", term.topology_key):
            words = _term_words(affinity, field, term)
            yield _preferred_instead(context, field, affinity, i, words)
            yield context.pod_patch(
                f"drop the required pod {words}",
                remove_operation("spec", "affinity", field, _REQUIRED, i),
                risk=Risk.DROPPED,
                family=(field, i),
            )


def _term_words(affinity: PodAffinity, field: str, term: PodAffinityTerm) -> str:
    """Return a required term in words, with its labels if another term has the same key."""
    near, key = field == "podAffinity", term.topology_key
    others = [each for each in affinity.required_during_scheduling_ignored_during_execution if each != term]
    labels = ""
    if term.label_selector is not None and any(each.topology_key == key for each in others):
        wanted = listed([str(each) for each in parse_label_selector(term.label_selector)])
        labels = f" {'to' if near else 'with'} pods with {wanted}"
    return f"{'affinity' if near else 'anti-affinity'}{labels} by {key}"


def _preferred_instead(context: RemedyContext, field: str, affinity: PodAffinity, i: int, words: str) -> Remedy:
    """Return the remedy that prefers a required term, in the pod and, for anti-affinity, in its siblings.

    The template of the workload is changed, so that the pods that run get the weaker term as well. Only their
    anti-affinity matters to the pod.
    """
    at, term = ("spec", "affinity", field), affinity.required_during_scheduling_ignored_during_execution[i]
    weighted = WeightedPodAffinityTerm(weight=_WEIGHT, pod_affinity_term=term)
    there = affinity.preferred_during_scheduling_ignored_during_execution
    prefer = add_operation(weighted, *at, _PREFERRED, "-") if there else add_operation((weighted,), *at, _PREFERRED)
    patch = (prefer, remove_operation(*at, _REQUIRED, i))
    own = context.pod_patch(
        f"prefer instead of require the pod {words}", *patch, risk=Risk.REDUCED, family=("prefer", field, i)
    )
    if field == "podAffinity":
        return own
    siblings = (patched(pod, *patch) for pod in _siblings(context))
    return dataclasses.replace(own, changes=(*own.changes, *siblings))


def _siblings(context: RemedyContext) -> Iterator[Pod]:
    """Yield the pods of the same controller with the same affinity, at most 200."""
    pods, owner = context.cluster.pods, context.pod.metadata.controller
    if owner is None:
        return
    same = (
        index
        for index in pods.assigned.tolist()
        if pods.records[index].metadata.namespace == context.pod.namespace
        and pods.records[index].metadata.controller == owner
    )
    for index in islice(same, _MOST_SIBLINGS):
        pod = pods.pod(index)
        if pod.spec.affinity == context.pod.spec.affinity and pod.key != context.pod.key:
            yield pod


def label_remedies(context: RemedyContext, key: str) -> Iterator[Remedy]:
    """Propose to give the node the label that defines the domains.

    The value is the node's name for the hostname label, else one of the first 5 values that other nodes have.
    """
    node = context.node
    known = context.cluster.nodes.labels[key].values[:_MOST_DOMAINS]
    for value in (node.name,) if key == HOSTNAME else known:
        label = add_operation(value, "metadata", "labels", key)
        patch = label if node.metadata.labels else add_operation({key: value}, "metadata", "labels")
        summary = f"label node {node.name} {key}={value}"
        family = ("label", f"{key}={value}")
        yield context.node_patch(
            summary, patch, family=family, command=summary, side_of=family, side=f"node {node.name}"
        )


class NoTopologyLabel(Operands, frozen=True):
    """The node lacks the label that defines the topology domains."""

    #: The label's key.
    topology_key: str

    def words(self) -> str:
        return f"node has no label {self.topology_key}"

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to drop the constraints and terms that need the label, or to label the node."""
        yield from spread_remedies(context, self.topology_key)
        yield from term_remedies(context, self.topology_key)
        yield from label_remedies(context, self.topology_key)


class InDomain(Operands, frozen=True):
    """Base class of operands that refer to the node's topology domain."""

    #: The key of the label that defines the domains.
    topology_key: str
    #: The node's domain, which is its value of that label.
    domain: str
