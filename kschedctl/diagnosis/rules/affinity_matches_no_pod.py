"""A required pod affinity whose term matches no pod on any node, and not the pod itself.

The pod waits for a pod that does not exist. Often the labels have a typing mistake, or the pods run in another
namespace, which the term does not name. Operators correct the term, or deploy the pods that it means.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from kschedctl.common.arrays import Mask
from kschedctl.common.wording import counted, listed, meant
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis
from kschedctl.diagnosis.situation import Situation
from kschedctl.objects.meta import LabelSelector
from kschedctl.objects.pod import PodAffinityTerm
from kschedctl.objects.selectors import IN, Requirement, Selector, SelectorError
from kschedctl.scheduler.framework.remedy import Remedy, Risk, add_operation
from kschedctl.scheduler.plugins.inter_pod_affinity.terms import (
    AffinityTerm,
    PodAndNamespaceLabels,
    classes_matching,
    merge_namespaces,
    parse_term,
)

_PLUGIN: Final = "InterPodAffinity"
_PATH: Final = ("spec", "affinity", "podAffinity", "requiredDuringSchedulingIgnoredDuringExecution")


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the terms that match no pod, with the labels that pods have instead."""
    reach = situation.in_reach
    affinity = situation.pod.spec.affinity
    near = affinity.pod_affinity if affinity is not None else None
    if not situation.filtered or near is None or not reach.any() or not situation.rejected_by(_PLUGIN)[reach].all():
        return
    for i, written in enumerate(near.required_during_scheduling_ignored_during_execution):
        try:
            term = merge_namespaces(situation.cluster, parse_term(written, situation.pod.namespace))
        except SelectorError:
            continue
        if term.selector and not _matches_a_pod(situation, term):
            yield _diagnosis(situation, i, written, term, term.selector)


def _matches_a_pod(situation: Situation, term: AffinityTerm) -> bool:
    """Report whether a term matches a pod on a node, or the pod itself."""
    own = PodAndNamespaceLabels.of(situation.cluster, situation.pod)
    if term.matches(situation.pod, dict(own.namespace_labels)):
        return True
    return bool(_on_nodes(situation, classes_matching(situation.cluster, term)).any())


def _on_nodes(situation: Situation, classes: Mask) -> Mask:
    """Return the pods of some classes that are on a node: bool, shape (n_pods,)."""
    pods = situation.cluster.pods
    found: Mask = classes[pods.class_id] & (pods.node_row >= 0)
    return found


def _diagnosis(
    situation: Situation, i: int, written: PodAffinityTerm, term: AffinityTerm, selector: Selector
) -> Diagnosis:
    wanted = listed([str(each) for each in selector])
    where = f"namespace {listed(sorted(term.namespaces))}" if term.namespaces else "the selected namespaces"
    pods = situation.cluster.pods
    remedies: list[Remedy] = []
    facts: list[str] = []
    matching = pods.classes_matching(selector)
    pending = matching[pods.class_id] & (pods.node_row < 0)
    if term.namespaces:
        pending &= pods.classes_in(term.namespaces)[pods.class_id]
    elsewhere = np.flatnonzero(_on_nodes(situation, matching))
    if len(elsewhere):
        spaces = sorted({pods.records[index].metadata.namespace for index in elsewhere.tolist()})
        facts.append(f"{counted(len(elsewhere), 'pod')} with these labels {_is(len(elsewhere))} in {listed(spaces)}")
        if not written.namespaces and written.namespace_selector is None:
            remedies.append(_in_namespaces(situation, i, spaces))
    elif pending.any():
        keys = [pods.key(index) for index in np.flatnonzero(pending).tolist()]
        facts.append(f"{listed(keys, most=2)} {'match' if len(keys) > 1 else 'matches'}, and {_is(len(keys))} pending")
    else:
        remedies += _corrections(situation, i, written, term, selector, facts)
    return Diagnosis(
        rule="affinity-matches-no-pod",
        cause="; ".join((f"pod affinity wants a pod with {wanted} in {where}, and no node runs one", *facts)),
        remedies=tuple(remedies),
        advice=()
        if remedies
        else (
            Advice(
                summary=f"get a pod with {wanted} to run first",
                risk=Risk.MISTAKE,
                untried="the snapshot does not have such a pod on a node",
            ),
        ),
    )


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _in_namespaces(situation: Situation, i: int, namespaces: list[str]) -> Remedy:
    return situation.context().pod_patch(
        f"namespaces [{', '.join(namespaces)}] in the pod affinity",
        add_operation(namespaces, *_PATH, i, "namespaces"),
        risk=Risk.MISTAKE,
        family=("namespaces", i),
    )


def _corrections(
    situation: Situation, i: int, written: PodAffinityTerm, term: AffinityTerm, selector: Selector, facts: list[str]
) -> Iterator[Remedy]:
    """Yield the corrections of a label's value, and note the pods that have the corrected label."""
    pods = situation.cluster.pods
    labels = pods.classes
    for each in selector:
        if each.operator != IN or len(each.values) != 1:
            continue
        own = pods.classes_in(term.namespaces)
        have = {
            one.pod.metadata.labels[each.key]
            for number, one in enumerate(labels)
            if own[number] and each.key in one.pod.metadata.labels
        }
        for value in meant(each.values[0], sorted(have))[:1]:
            other = Requirement(each.key, IN, (value,))
            on_nodes = int(_on_nodes(situation, pods.classes_matching((other,)) & own).sum())
            facts.append(f"{counted(on_nodes, 'pod')} {'has' if on_nodes == 1 else 'have'} {other}")
            yield situation.context().pod_patch(
                f"{other} instead of {each} in the pod affinity",
                add_operation(_with_value(written.label_selector, each.key, value), *_PATH, i, "labelSelector"),
                risk=Risk.MISTAKE,
                family=("pod affinity", i),
            )


def _with_value(selector: LabelSelector | None, key: str, value: str) -> LabelSelector:
    """Return a selector with another value for a key that it requires."""
    known = selector or LabelSelector()
    others = tuple(each for each in known.match_expressions if each.key != key)
    return LabelSelector(match_labels={**known.match_labels, key: value}, match_expressions=others)
