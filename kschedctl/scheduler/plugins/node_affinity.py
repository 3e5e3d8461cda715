"""NodeAffinity: ``nodeSelector`` and node affinity of the pod, and the affinity added by the profile.

Score: the sum of the weights of the matching preferred terms, normalised so that the highest is 100.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
import numpy as np

from kschedctl.cluster.node_selection import (
    nodes_matching,
    nodes_matching_pod,
    nodes_matching_term,
    required_node_selector,
    runtime_class_selector,
)
from kschedctl.cluster.nodes import Nodes
from kschedctl.cluster.overlay import Overlay
from kschedctl.common.arrays import Int64Array
from kschedctl.common.wording import show_labels
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.selectors import (
    DOES_NOT_EXIST,
    EXISTS,
    GT,
    IN,
    NOT_IN,
    NodeSelector,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    Requirement,
    SelectorError,
    label_map_selector,
    parse_node_term,
)
from kschedctl.objects.well_known import PLATFORM_LABELS, describes_pool
from kschedctl.scheduler.framework.config.types import NodeAffinityArgs
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import OF_NODE
from kschedctl.scheduler.framework.events import ActionType, ClusterEventWithHint, EventResource, registered
from kschedctl.scheduler.framework.explanation import Arithmetic, FilterCheck, Step, sum_expression
from kschedctl.scheduler.framework.interface import (
    FilterPlugin,
    Handle,
    PluginError,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ScaledScorePlugin,
)
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.remedy import Remedy, RemedyContext, add_operation, remove_operation
from kschedctl.scheduler.framework.risk import Risk
from kschedctl.scheduler.framework.runtime import encoded
from kschedctl.scheduler.framework.status import SKIP, SUCCESS, Code, Reason, Rejections, Status

# Remedies of NodeAffinity: drop a requirement of the pod, or give the node the required labels.

_REQUIRED: Final = ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")


def selector_remedies(context: RemedyContext) -> Iterator[Remedy]:
    """Propose to drop an entry of ``nodeSelector``, or to give the node all required labels that it lacks.

    The remedies of the required node affinity follow. A required architecture or operating system is never dropped,
    because an image that is not built for the node's platform fails there. Neither is an entry that the pod's
    RuntimeClass adds: admission adds it to the new pod again.
    """
    selector = context.pod.spec.node_selector
    unmet = {key: value for key, value in selector.items() if context.node.metadata.labels.get(key) != value}
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

    Args:
        wanted: Labels that the node must have.
    """
    before = context.node.metadata.labels
    after: dict[str, str | None] = {key: value for key, value in wanted.items() if before.get(key) != value}
    asked = [*requirements, *label_map_selector(wanted)]
    for requirement in asked:
        if not requirement.holds(after.get(requirement.key, before.get(requirement.key))):
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
    changes = sorted(after.items())
    labels = [f"{key}={value}" if value is not None else f"{key}-" for key, value in changes]
    name, told, at = context.node.name, ", ".join(labels), ("metadata", "labels")
    patch = [remove_operation(*at, key) if value is None else add_operation(value, *at, key) for key, value in changes]
    if not before:
        patch = [add_operation({key: value for key, value in after.items() if value is not None}, *at)]
    yield context.node_patch(
        f"label node {name} {told}",
        *patch,
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


REASON_POD: Final = "node(s) didn't match Pod's node affinity/selector"
REASON_ENFORCED: Final = "node(s) didn't match scheduler-enforced node affinity"
REASON_CONFLICT: Final = "pod affinity terms conflict"
_ENFORCED: Final = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (REASON_ENFORCED,))
_POD: Final = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (REASON_POD,))


def named_nodes(selector: NodeSelector) -> frozenset[str] | None:
    """Return the nodes that a selector names by ``metadata.name``, or ``None`` if a term does not restrict the name."""
    names: frozenset[str] = frozenset()
    for term in selector.node_selector_terms:
        fields = [set(f.values) for f in term.match_fields if f.key == "metadata.name" and f.operator == IN]
        if not fields:
            return None
        names |= frozenset.intersection(*map(frozenset, fields))
    return names


def preference_scores(nodes: Nodes, terms: Iterable[PreferredSchedulingTerm]) -> Int64Array:
    """Return the sum of the weights of the matching terms per node: int64, shape (n_nodes,).

    Terms without a weight or without requirements are ignored.

    Raises PluginError if a term with a weight cannot be parsed.
    """
    scores = np.zeros(len(nodes), dtype=np.int64)
    for i, preferred in enumerate(terms):
        if not preferred.weight:
            continue
        try:
            term = parse_node_term(preferred.preference)
        except SelectorError as error:
            raise PluginError(f"[{i}].{error.path}: {error}") from None
        if term is not None:
            scores += preferred.weight * nodes_matching_term(nodes, term)
    return scores


def preferred_terms(pod: Pod) -> tuple[PreferredSchedulingTerm, ...]:
    """Return the pod's preferred node affinity terms."""
    affinity = pod.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return ()
    return affinity.node_affinity.preferred_during_scheduling_ignored_during_execution


class UnmetNodeSelector(Operands, frozen=True):
    """The node lacks a label of the pod's ``nodeSelector``."""

    #: The first requirement that the node does not meet.
    requirement: Requirement
    #: The node's value of that label; ``None`` if it has no such label.
    has: str | None

    def words(self) -> str:
        return f"nodeSelector wants {self.requirement}, node has {show_labels({self.requirement.key: self.has})}"

    def data(self) -> dict[str, Any]:
        return {"requirement": str(self.requirement), "has": self.has}

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to drop an entry of the selector, or to label the node."""
        return selector_remedies(context)


class UnmetNodeAffinity(Operands, frozen=True):
    """No term of the pod's required node affinity matches the node."""

    #: The first unmet label requirement of each term.
    by_label: tuple[Requirement, ...]
    #: The first unmet requirement on the node's name of each term.
    by_name: tuple[Requirement, ...]
    #: The node's values of the labels in ``by_label``; ``None`` for a label that the node does not have.
    labels: dict[str, str | None]

    def words(self) -> str:
        if not self.by_label and not self.by_name:
            return "no term of the affinity can match a node"
        wanted = " or ".join(dict.fromkeys(map(str, (*self.by_label, *self.by_name))))
        return f"affinity wants {wanted}" + (f", node has {show_labels(self.labels)}" if self.labels else "")

    def data(self) -> dict[str, Any]:
        return {"unmet": [str(requirement) for requirement in (*self.by_label, *self.by_name)]}

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to drop one requirement or all of them, or to label the node."""
        return affinity_remedies(context)


class WeighedTerm(msgspec.Struct, frozen=True, rename="camel"):
    """A preferred term evaluated on a node."""

    #: The term's requirements.
    term: str
    #: The term's weight.
    weight: int
    #: The node's values of the labels in the term.
    has: str
    #: True if the term matches the node.
    matches: bool


class PreferenceScore(Arithmetic, frozen=True):
    """The raw score of NodeAffinity."""

    #: The preferred terms of the pod, then those of the profile.
    terms: tuple[WeighedTerm, ...]

    def formula(self) -> str:
        return "the sum of the weights of the preferred terms that match"

    def steps(self) -> Iterator[Step]:
        for term in self.terms:
            weight = term.weight if term.matches else 0
            yield Step(term.term, str(weight), weight, f"{'matches' if term.matches else 'does not match'}: {term.has}")
        weights = [term.weight for term in self.terms if term.matches]
        yield Step("score", sum_expression(map(str, weights)), sum(weights))


class _PreScoreState(msgspec.Struct, frozen=True):
    scores: Int64Array
    nodes: Nodes


class NodeAffinity(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScaledScorePlugin):
    """Upstream: plugins/nodeaffinity."""

    name = "NodeAffinity"
    reads = OF_NODE
    prepares_from = OF_NODE

    def __init__(self, args: msgspec.Struct | None, handle: Handle) -> None:
        super().__init__(args, handle)
        added = args.added_affinity if isinstance(args, NodeAffinityArgs) else None
        self._added_required = added.required_during_scheduling_ignored_during_execution if added else None
        self._added_preferred = added.preferred_during_scheduling_ignored_during_execution if added else ()

    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        required = required_node_selector(pod.spec)
        if required is None and self._added_required is None and not pod.spec.node_selector:
            return PreFilterResult(SKIP)
        if required is None or not required.node_selector_terms:
            return PreFilterResult()
        names = named_nodes(required)
        if names is not None and not names:
            return PreFilterResult(Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (REASON_CONFLICT,)))
        return PreFilterResult(node_names=names)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        action = ActionType.ADD | ActionType.UPDATE_NODE_LABEL
        return (registered(EventResource.NODE, action, self._after_node_change),)

    def _after_node_change(self, pod: Pod, old: Node | None, new: Node) -> bool:
        node = Nodes((new,))
        if self._added_required is not None and not nodes_matching(node, self._added_required)[0]:
            return False
        if not nodes_matching_pod(node, pod.spec)[0]:
            return False
        return old is None or not nodes_matching_pod(Nodes((old,)), pod.spec)[0]

    def remedies(self, context: RemedyContext, status: Status) -> Iterator[Remedy]:
        """Propose to drop requirements of the affinity: they name nodes or contradict each other."""
        return affinity_remedies(context)

    def sign_pod(self, pod: Pod) -> Hashable:
        affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
        return encoded(affinity), encoded(pod.spec.node_selector)

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        table = self.handle.cluster.nodes
        which = np.where(nodes_matching_pod(table, pod.spec), -1, 1)
        if self._added_required is not None:
            which[~nodes_matching(table, self._added_required)] = 0
        which = which[nodes.rows]

        def details(position: int) -> tuple[Reason, ...]:
            if which[position] == 0:
                return (Reason(REASON_ENFORCED),)
            return (self._mismatch(pod, int(nodes.rows[position])),)

        return Rejections.choose(which, (_ENFORCED, _POD), details)

    def _mismatch(self, pod: Pod, row: int) -> Reason:
        """Return the part of the pod's selector or affinity that the node does not match."""
        labels = self.handle.cluster.nodes.objects[row].metadata.labels
        for requirement in label_map_selector(pod.spec.node_selector):
            has = labels.get(requirement.key)
            if not requirement.holds(has):
                return Reason(REASON_POD, UnmetNodeSelector(requirement, has))
        required = required_node_selector(pod.spec)
        name = self.handle.cluster.nodes.names[row]
        by_label: list[Requirement] = []
        by_name: list[Requirement] = []
        for term in required.node_selector_terms if required is not None else ():
            try:
                parsed = parse_node_term(term)
            except SelectorError:
                continue
            if parsed is not None:
                by_label += [r for r in parsed.labels if not r.holds(labels.get(r.key))][:1]
                by_name += [r for r in parsed.fields if not r.holds(name)][:1]
        has_labels = {requirement.key: labels.get(requirement.key) for requirement in by_label}
        return Reason(REASON_POD, UnmetNodeAffinity(tuple(by_label), tuple(by_name), has_labels))

    def pre_score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Status:
        terms = preferred_terms(pod)
        try:
            scores = self._preference_scores(terms)
        except PluginError as error:
            return Status(Code.ERROR, (str(error),))
        if not terms and not self._added_preferred:
            return SKIP
        state.write(_PreScoreState(scores, self.handle.cluster.nodes))
        return SUCCESS

    def _preference_scores(self, terms: tuple[PreferredSchedulingTerm, ...]) -> Int64Array:
        nodes = self.handle.cluster.nodes
        return preference_scores(nodes, terms) + preference_scores(nodes, self._added_preferred)

    def score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Int64Array:
        prepared = state.read(_PreScoreState)
        scores = prepared.scores if prepared is not None else self._preference_scores(preferred_terms(pod))
        return scores[rows]

    def explain_filter(self, state: CycleState, pod: Pod, row: int) -> tuple[FilterCheck, ...]:
        node = self.handle.cluster.nodes.objects[row]
        labels = node.metadata.labels
        checks = [
            FilterCheck(
                f"nodeSelector {requirement}",
                f"node has {show_labels({requirement.key: labels.get(requirement.key)})}",
                requirement.holds(labels.get(requirement.key)),
            )
            for requirement in label_map_selector(pod.spec.node_selector)
        ]
        for what, selector in (("the profile's", self._added_required), ("", required_node_selector(pod.spec))):
            if selector is None:
                continue
            told = [_described_term(term, node) for term in selector.node_selector_terms]
            wanted, found = f"{what} affinity".strip(), "it has no terms, so it matches no node"
            if told:
                wanted += f" {' or '.join(term for term, _, _ in told)}"
                found = "; ".join(dict.fromkeys(has for _, has, _ in told))
            checks.append(FilterCheck(wanted, found, any(ok for *_, ok in told)))
        return tuple(checks)

    def explain_score(self, state: CycleState, pod: Pod, row: int) -> Arithmetic:
        prepared = state.read(_PreScoreState)
        # Score may see node objects sent back by an extender. PreScore computed the scores on the original nodes.
        node = (prepared.nodes if prepared is not None else self.handle.cluster.nodes).objects[row]
        weighed = []
        for preferred in (*preferred_terms(pod), *self._added_preferred):
            told, has, matches = _described_term(preferred.preference, node)
            weighed.append(WeighedTerm(told, preferred.weight, has, matches and bool(preferred.weight)))
        return PreferenceScore(tuple(weighed))


def _described_term(term: NodeSelectorTerm, node: Node) -> tuple[str, str, bool]:
    """Return a term as text, the node's values of its labels, and True if the term matches the node."""
    try:
        parsed = parse_node_term(term)
    except SelectorError as error:
        return "an invalid term", str(error), False
    if parsed is None:
        return "an empty term", "it matches no node", False
    labels = node.metadata.labels
    own = {requirement.key: labels.get(requirement.key) for requirement in parsed.labels}
    has = [show_labels(own)] if own else []
    if parsed.fields:
        has.append(f"metadata.name={node.name}")
    told = ", ".join(map(str, (*parsed.labels, *parsed.fields)))
    return told, f"node has {', '.join(has)}", bool(nodes_matching_term(Nodes((node,)), parsed)[0])
