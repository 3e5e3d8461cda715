"""Remedies of NodeAffinity: drop a requirement of the pod, or give the node the required labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from kschedctl.cluster.node_selection import required_node_selector, runtime_class_selector
from kschedctl.objects.meta import Labels
from kschedctl.objects.selectors import (
    DOES_NOT_EXIST,
    EXISTS,
    GT,
    IN,
    NOT_IN,
    NodeSelectorTerm,
    Requirement,
    SelectorError,
    label_map_selector,
    parse_node_term,
)
from kschedctl.objects.well_known import PLATFORM_LABELS, describes_pool
from kschedctl.scheduler.framework.remedy import Operation, Remedy, RemedyContext, Risk, add_operation, remove_operation

_REQUIRED: Final = ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")


def selector_remedies(context: RemedyContext) -> Iterator[Remedy]:
    """Propose to drop an entry of ``nodeSelector``, or to give the node all required labels that it lacks.

    The remedies of the required node affinity follow. A required architecture or operating system is never dropped,
    because an image that is not built for the node's platform fails there. Neither is an entry that the pod's
    RuntimeClass adds: admission adds it to the new pod again.
    """
    selector = context.pod.spec.node_selector
    labels = context.node.metadata.labels
    unmet = {key: value for key, value in selector.items() if labels.get(key) != value}
    of_class = runtime_class_selector(context.pod.spec, context.cluster)
    for key in unmet:
        if key in PLATFORM_LABELS or key in of_class:
            continue
        yield context.pod_patch(
            f"drop {key}={selector[key]} of nodeSelector",
            remove_operation("spec", "nodeSelector", key),
            risk=Risk.DROPPED,
            family=("nodeSelector", key),
            within=len(unmet),
        )
    yield from node_label_remedies(context, unmet)
    yield from affinity_remedies(context)


def affinity_remedies(context: RemedyContext) -> Iterator[Remedy]:
    """Propose changes to the required node affinity, or labels for the node.

    A change drops one requirement of a term, one of several terms, or the whole required affinity.
    """
    required = required_node_selector(context.pod.spec)
    # The controller of a DaemonSet ties each pod to its node.
    owner = context.pod.metadata.controller
    if required is None or (owner is not None and owner.kind == "DaemonSet"):
        return
    terms = required.node_selector_terms
    for i, term in enumerate(terms):
        yield from _without_one_requirement(context, i, term)
        if len(terms) > 1 and not _names_platform(term):
            # The remaining terms still apply. Dropping one term helps if its node names restrict the search.
            yield context.pod_patch(
                f"drop term {i + 1} of {len(terms)} of the required node affinity",
                remove_operation(*_REQUIRED, "nodeSelectorTerms", i),
                risk=Risk.DROPPED,
                family=("node affinity term", i),
                within=1,
            )
        if context.row >= 0:
            yield from _labelled_for(context, term)
    if any(map(_names_platform, terms)):
        return
    yield context.pod_patch(
        "drop the required node affinity",
        remove_operation(*_REQUIRED),
        risk=Risk.DROPPED,
        family="required node affinity",
        within=2,
    )


def _names_platform(term: NodeSelectorTerm) -> bool:
    return any(each.key in PLATFORM_LABELS for each in term.match_expressions)


def _without_one_requirement(context: RemedyContext, i: int, term: NodeSelectorTerm) -> Iterator[Remedy]:
    # A term without requirements matches no node, so the last requirement is not dropped.
    if len(term.match_expressions) + len(term.match_fields) < 2:
        return
    for field, requirements in (("matchExpressions", term.match_expressions), ("matchFields", term.match_fields)):
        for j, each in enumerate(requirements):
            if each.key in PLATFORM_LABELS:
                continue
            # The operators Exists and DoesNotExist have no values.
            words = " ".join((each.key, each.operator, *([f"({', '.join(each.values)})"] if each.values else [])))
            yield context.pod_patch(
                f"drop {words} of the required node affinity",
                remove_operation(*_REQUIRED, "nodeSelectorTerms", i, field, j),
                risk=Risk.DROPPED,
                family=("node affinity", i, field, j),
            )


def _labelled_for(context: RemedyContext, term: NodeSelectorTerm) -> Iterator[Remedy]:
    """Propose to give the node the labels required by a term and by ``nodeSelector``."""
    try:
        parsed = parse_node_term(term)
    except SelectorError:
        return
    if parsed is None or not all(requirement.holds(context.node.name) for requirement in parsed.fields):
        return
    yield from node_label_remedies(context, context.pod.spec.node_selector, parsed.labels)


def node_label_remedies(
    context: RemedyContext, wanted: Mapping[str, str], requirements: Iterable[Requirement] = ()
) -> Iterator[Remedy]:
    """Propose to change the node's labels so that the requirements hold, if that is possible.

    Parameters
    ----------
    wanted : mapping of str to str
        Labels that the node must have.
    requirements : iterable of Requirement
        Further requirements on the labels.
    """
    before = context.node.metadata.labels
    after: dict[str, str | None] = {key: value for key, value in wanted.items() if before.get(key) != value}
    asked = [*requirements, *label_map_selector(wanted)]
    for requirement in asked:
        has = after.get(requirement.key, before.get(requirement.key))
        if not requirement.holds(has):
            after[requirement.key] = _value_for(requirement)
    # A label neither moves a node nor makes it one of another pool, so no existing label is changed. A value that no
    # other node has is rather a mistake of the pod, and labels of pools are those of the machines. The labels of a
    # RuntimeClass show that its runtime is installed.
    known = context.cluster.nodes.labels
    of_class = runtime_class_selector(context.pod.spec, context.cluster)
    if any(
        key in before or value is None or value not in known[key].values or describes_pool(key) or key in of_class
        for key, value in after.items()
    ):
        return
    if not after or not all(one.holds(after.get(one.key, before.get(one.key))) for one in asked):
        return
    labels = [f"{key}={value}" if value is not None else f"{key}-" for key, value in sorted(after.items())]
    name, told = context.node.name, ", ".join(labels)
    yield context.node_patch(
        f"label node {name} {told}",
        *_relabelled(before, after),
        family=("label", told),
        command=f"label node --overwrite {name} {' '.join(labels)}",
        side_of=("label", told),
        side=f"node {name}",
    )


def _value_for(requirement: Requirement) -> str | None:
    """Return a label value for which the requirement holds, or ``None`` to remove the label."""
    match requirement.operator:
        case op if op == IN:
            return requirement.values[0] if requirement.values else None
        case op if op in (NOT_IN, DOES_NOT_EXIST):
            return None
        case op if op == EXISTS:
            return "true"
        case op:
            bound = int(requirement.values[0])
            return str(bound + 1 if op == GT else bound - 1)


def _relabelled(before: Labels, after: Mapping[str, str | None]) -> Iterator[Operation]:
    if not before:
        yield add_operation({key: value for key, value in after.items() if value is not None}, "metadata", "labels")
        return
    for key, value in sorted(after.items()):
        yield (
            remove_operation("metadata", "labels", key)
            if value is None
            else add_operation(value, "metadata", "labels", key)
        )
