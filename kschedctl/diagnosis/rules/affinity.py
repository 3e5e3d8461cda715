"""Pod affinity, anti-affinity and host ports: the relations of a pod to other pods."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec
import numpy as np
from msgspec.structs import replace

from kschedctl.common.arrays import Mask
from kschedctl.common.wording import counted, listed, meant
from kschedctl.controllers.workloads.ownership import pods_made_by, workload_of
from kschedctl.controllers.workloads.template import NODE_BOUND
from kschedctl.diagnosis.diagnosis import SELECTION, Advice, Diagnosis, Situation, all_rows
from kschedctl.diagnosis.evidence.origin import scaler_field, scaler_of
from kschedctl.diagnosis.new_nodes import nodes_like
from kschedctl.diagnosis.rules import obstacles
from kschedctl.diagnosis.rules.obstacles import obstacles_on, together
from kschedctl.objects.meta import LabelSelector
from kschedctl.objects.pod import Pod, PodAffinityTerm
from kschedctl.objects.selectors import IN, Requirement, Selector, SelectorError, matches
from kschedctl.objects.well_known import HOSTNAME
from kschedctl.objects.workload import Deployment, ReplicaSet, StatefulSet
from kschedctl.scheduler.framework.remedy import Operation, Remedy, add_operation, delete_command, replace_operation
from kschedctl.scheduler.framework.risk import Risk
from kschedctl.scheduler.plugins.inter_pod_affinity.filtering import ExistingAntiAffinity, OwnAntiAffinity, PodsInTheWay
from kschedctl.scheduler.plugins.inter_pod_affinity.terms import (
    AffinityTerm,
    PodAndNamespaceLabels,
    classes_matching,
    merge_namespaces,
    parse_pod_terms,
    parse_term,
)
from kschedctl.scheduler.plugins.node_ports import HostPort, PortInUse, host_ports

_PLUGIN: Final = "InterPodAffinity"
_PATH: Final = ("spec", "affinity", "podAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
_APART: Final = ("spec", "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
#: The filters whose rejection no other node of the same shape lifts.
_NOT_BY_PODS: Final = (*SELECTION, "TaintToleration", "NodeUnschedulable")


def affinity_cycle(situation: Situation) -> Iterator[Diagnosis]:
    """Pending pods whose required pod affinities wait for each other.

    Each of them requires another one that runs already, so none can be the first. kube-scheduler lets only a pod go first
    that matches all of its own terms. Operators require the affinity on one side only, or prefer it there: that pod
    starts, and the others follow it. More pods or other labels do not help.
    """
    # Yield the circle of workloads, and whose term to weaken.
    reach = situation.in_reach
    if not situation.filtered or not reach.any() or not situation.rejected_by(_PLUGIN)[reach].all():
        return
    circle = _circle(situation)
    if not circle:
        return
    owners = list(dict.fromkeys(each.owner for each in circle))
    links = [f"{each.owner} requires {each.wanted}" for each in circle]
    together_words = f"{listed(owners)} wait for each other" + (" in a circle" if len(circle) > 2 else "")
    own = situation.owner_text
    beside = (
        ""
        if own in owners
        else f"pod affinity wants {_required_words(situation, situation.pod)}, which is pending, too: "
    )
    yield Diagnosis(
        rule="affinity-cycle",
        cause=f"{beside}{together_words}: {', '.join(links)}, and none of these pods runs",
        advice=tuple(
            Advice(
                summary=f"prefer instead of require the pod affinity in {each.owner}: its pod then goes first",
                risk=Risk.REDUCED,
                untried=f"kschedctl explain {each.pod} tries it",
                command=f"# kubectl edit {each.owner.partition(' ')[0].lower()} {each.owner.rpartition('/')[2]} "
                f"-n {each.pod.partition('/')[0]}",
            )
            for each in {one.owner: one for one in circle if one.owner != own}.values()
        ),
    )


class _Waiting(msgspec.Struct, frozen=True):
    """A pending pod of a circle."""

    #: The pod, as ``namespace/name``.
    pod: str
    #: Its workload as text.
    owner: str
    #: The pod that its affinity requires, in words.
    wanted: str


#: Pending pods with the same terms, which wait for the same pods; the pod itself is by itself, as ``None``.
_Group = tuple[AffinityTerm, ...] | None


def _circle(situation: Situation) -> list[_Waiting]:
    """Return pending pods that wait for each other and that the pod waits for, in their order; empty if there are none.

    The pod itself comes first if it is one of them.
    """
    pods, pod = situation.cluster.pods, situation.pod
    near = _required(situation, pod)
    if near is None or not near.waits:
        return []
    index = pods.index.get((pod.namespace, pod.name))
    own = int(pods.class_id[index]) if index is not None else -1
    first = {int(pods.class_id[i]): i for i in reversed(np.flatnonzero(pods.node_row < 0).tolist())}
    required: dict[_Group, _Required] = {None: near}
    group_of: dict[int, _Group] = {own: None}
    for number in sorted(first):
        found = _required(situation, pods.classes[number].pod)
        if number != own and found is not None and found.waits:
            group_of[number] = found.terms
            required.setdefault(found.terms, found)
    # Pods that wait for nobody are in no group. Pods wait in vain if all pods that they may wait for do.
    waits: dict[_Group, list[_Group]] = {}
    for group, each in required.items():
        numbers = [number for number in np.flatnonzero(each.classes).tolist() if number in first]
        known = index is None and each.selects(situation, pod)
        if (numbers or known) and all(number in group_of for number in numbers):
            waits[group] = list(dict.fromkeys((*((None,) if known else ()), *(group_of[n] for n in numbers))))
    while free := {group for group, others in waits.items() if not waits.keys() >= set(others)}:
        waits = {group: others for group, others in waits.items() if group not in free}
    if None not in waits:
        return []
    path = _shortest(waits, None) or _walk(waits, None)
    found_pods = [_Waiting(pod.key, situation.owner_text, _required_words(situation, pod))] if path[0] is None else []
    for before, group in zip((path[-1], *path), path, strict=False):
        if group is not None:
            number = next(n for n, of in group_of.items() if of == group and required[before].classes[n])
            words = _required_words(situation, pods.classes[number].pod)
            found_pods.append(_Waiting(pods.key(first[number]), situation.owner_of(first[number]), words))
    return found_pods


def _shortest(waits: Mapping[_Group, list[_Group]], start: _Group) -> list[_Group]:
    """Return the shortest path that leads from a group back to it, without its repetition; empty if there is none."""
    paths, seen = [[start]], {start}
    for path in paths:
        for group in waits[path[-1]]:
            if group == start:
                return path
            if group not in seen:
                seen.add(group)
                paths.append([*path, group])
    return []


def _walk(waits: Mapping[_Group, list[_Group]], start: _Group) -> list[_Group]:
    """Return the circle that one meets on the way from a group."""
    path = [start]
    while waits[path[-1]][0] not in path:
        path.append(waits[path[-1]][0])
    return path[path.index(waits[path[-1]][0]) :]


class _Required(msgspec.Struct, frozen=True):
    """The required pod affinity of a pod."""

    terms: tuple[AffinityTerm, ...]
    #: The pod classes that match all terms, as a pod has to: bool, shape (n_classes,).
    classes: Mask
    #: True if no pod on a node matches all terms, and neither does the pod itself.
    waits: bool

    def selects(self, situation: Situation, pod: Pod) -> bool:
        labels = situation.cluster.namespace_labels.get(pod.namespace, {})
        return all(term.matches(pod, labels) for term in self.terms)


def _required(situation: Situation, pod: Pod) -> _Required | None:
    """Return the required pod affinity of a pod; ``None`` if it has none, or an invalid one."""
    cluster = situation.cluster
    try:
        terms = tuple(merge_namespaces(cluster, term) for term in parse_pod_terms(pod).required_affinity)
    except SelectorError:
        return None
    if not terms:
        return None
    classes = np.logical_and.reduce([classes_matching(cluster, term) for term in terms])
    found = _Required(terms, classes, False)
    waits = not _on_nodes(situation, classes).any() and not found.selects(situation, pod)
    return replace(found, waits=waits)


def _required_words(situation: Situation, pod: Pod, between: str = " and ") -> str:
    """Return the pods that the terms of a pod's required affinity select, in words."""
    near = _required(situation, pod)
    told = []
    for term in near.terms if near is not None else ():
        labels = listed([str(each) for each in term.selector or ()])
        with_labels = f"a pod with {labels}" if labels else "a pod"
        spaces = sorted(term.namespaces - {pod.namespace})
        where = f" of {listed(spaces, 'or')}" if spaces else ""
        told.append(f"{with_labels}{where} in the same {term.topology_key}")
    return between.join(told)


def affinity_matches_no_pod(situation: Situation) -> Iterator[Diagnosis]:
    """A required pod affinity whose term matches no pod on any node, and not the pod itself.

    The pod waits for a pod that does not exist. Often the labels have a typing mistake, or the pods run in another
    namespace, which the term does not name. Operators correct the term, or deploy the pods that it means. With several
    terms, a pod counts only if it matches all of them.
    """
    # Yield the terms that match no pod, with the labels that pods have instead.
    reach = situation.in_reach
    affinity = situation.pod.spec.affinity
    near = affinity.pod_affinity if affinity is not None else None
    if not situation.filtered or near is None or not reach.any() or not situation.rejected_by(_PLUGIN)[reach].all():
        return
    if _circle(situation):
        return
    own = PodAndNamespaceLabels.of(situation.cluster, situation.pod)
    for i, written in enumerate(near.required_during_scheduling_ignored_during_execution):
        try:
            term = merge_namespaces(situation.cluster, parse_term(written, situation.pod.namespace))
        except SelectorError:
            continue
        is_met = term.matches(situation.pod, dict(own.namespace_labels))
        if term.selector and not is_met and not _on_nodes(situation, classes_matching(situation.cluster, term)).any():
            selector = term.selector
            wanted = listed([str(each) for each in selector])
            where = f"namespace {listed(sorted(term.namespaces))}" if term.namespaces else "the selected namespaces"
            pods = situation.cluster.pods
            first, check = f"get a pod with {wanted} to run first", ""
            remedies: list[Remedy] = []
            facts: list[str] = []
            matching = pods.classes_matching(selector)
            pending = matching[pods.class_id] & (pods.node_row < 0)
            if term.namespaces:
                pending &= pods.classes_in(term.namespaces)[pods.class_id]
            elsewhere = np.flatnonzero(_on_nodes(situation, matching))
            if len(elsewhere):
                spaces = sorted({pods.records[index].metadata.namespace for index in elsewhere.tolist()})
                facts.append(
                    f"{counted(len(elsewhere), 'pod')} with these labels {_is(len(elsewhere))} in {listed(spaces)}"
                )
                remedies += _in_namespaces(situation, i, written, spaces)
            elif written.namespaces and matches(selector, situation.pod.metadata.labels):
                # The term means the pod's own replicas, and was copied from another namespace.
                remedies += _in_namespaces(situation, i, written, [situation.pod.namespace])
                facts.append("the pod has these labels itself")
            elif pending.any():
                keys = [pods.key(index) for index in np.flatnonzero(pending).tolist()]
                first = f"get {keys[0]} to run first"
                check = f"# kschedctl explain {keys[0]} shows why it is pending"
                facts.append(
                    f"{listed(keys, most=2)} {'match' if len(keys) > 1 else 'matches'}, and {_is(len(keys))} pending"
                )
            else:
                remedies += _corrections(situation, i, written, term, selector, facts)
            yield Diagnosis(
                rule="affinity-matches-no-pod",
                cause="; ".join((f"pod affinity wants a pod with {wanted} in {where}, and no node runs one", *facts)),
                remedies=tuple(remedies),
                advice=()
                if remedies
                else (
                    Advice(
                        summary=first,
                        risk=Risk.MISTAKE,
                        untried="the snapshot does not have such a pod on a node",
                        command=check,
                    ),
                ),
            )
            return
    required = _required(situation, situation.pod)
    if required is not None and required.waits and len(required.terms) > 1:
        yield Diagnosis(
            rule="affinity-terms-never-together",
            cause=f"kube-scheduler counts a pod only if it matches all {len(required.terms)} terms of the required pod affinity, "
            f"and no pod on a node does: one term wants {_required_words(situation, situation.pod, ', the other ')}",
        )


def _in_namespaces(situation: Situation, i: int, written: PodAffinityTerm, spaces: list[str]) -> Iterator[Remedy]:
    """Yield the i-th term of the pod affinity about pods of other namespaces, if it does not select these by labels."""
    if written.namespace_selector is None:
        instead = f" instead of [{', '.join(written.namespaces)}]" if written.namespaces else ""
        yield situation.context().pod_patch(
            f"namespaces [{', '.join(spaces)}]{instead} in the pod affinity",
            add_operation(spaces, *_PATH, i, "namespaces"),
            risk=Risk.MISTAKE,
            family=("namespaces", i),
        )


def affinity_elsewhere(situation: Situation) -> Iterator[Diagnosis]:
    """A required pod affinity whose pods run where this pod cannot run.

    The pods that the affinity selects are on a node, or in a zone, that is full, tainted, cordoned or excluded by the pod's
    own node selection. Nodes that could hold the pod have none of them. Operators make room beside these pods, add a node
    in their zone, let them move, or prefer the affinity instead of requiring it.
    """
    # Yield the pods that the affinity selects, and what keeps this pod from their nodes.
    if not situation.filtered or situation.is_of_daemon_set:
        return
    near, pods, nodes = _required(situation, situation.pod), situation.cluster.pods, situation.cluster.nodes
    if near is None or near.waits:
        return
    matching = np.flatnonzero(_on_nodes(situation, near.classes))
    if not len(matching):
        return
    rows = pods.node_row[matching]
    beside = np.ones(situation.n_nodes, dtype=np.bool_)
    keys = list(dict.fromkeys(term.topology_key for term in near.terms))
    for column in (nodes.labels[key] for key in keys):
        beside &= column.present & np.isin(column.codes, column.codes[rows])
    others = [plugin for plugin in situation.rejected if plugin != _PLUGIN]
    free = situation.in_reach & ~beside & ~situation.rejected_by(*others)
    if not free.any() or not beside.any():
        return
    first = int(matching[0])
    keyed = listed([pods.key(index) for index in matching.tolist()], most=2)
    hosts = listed(sorted({nodes.names[row] for row in rows.tolist()}), most=3)
    where = f"{keyed} {_is(len(matching))} on {hosts}"
    excluded = beside & situation.rejected_by(*SELECTION)
    reasons = (
        [f"the pod's node selection excludes {listed(situation.names(excluded), most=3)}"] if excluded.any() else []
    )
    if (beside & ~excluded).any():
        reasons.append(obstacles_on(situation, beside & ~excluded))
    zone = next((key for key in keys if key != HOSTNAME), "")
    column = nodes.labels[zone or HOSTNAME]
    places = sorted({column.values[code] for code in column.codes[beside].tolist()})
    domains = f"in {listed(places, most=3)}: " if zone else ""
    could = counted(int(free.sum()), "other node")
    advice = list(_moves(situation, first, free)) if len(matching) == 1 and not zone else []
    if excluded.any() and (excluded == beside).all():
        advice = [
            Advice(
                summary=f"give {situation.owner_of(first)} the node selection of this pod, so that both can run side by side",
                risk=Risk.SHARED,
                untried="its pods have to move first",
                command=f"# kubectl edit, then wait until {pods.key(first)} is replaced",
            )
        ]
    elif (
        not zone
        and beside.sum() <= _SAMPLE
        and all(
            any(isinstance(each, OwnAntiAffinity) for each in situation.operands(row, _PLUGIN))
            for row in all_rows(beside)
        )
    ):
        advice = [
            Advice(
                summary=f"one more replica of {situation.owner_of(first)}, on a node where this pod may run too",
                risk=Risk.POD,
                untried="the scheduler chooses the node of the new pod",
                command=f"# kubectl scale {situation.owner_of(first).partition(' ')[0].lower()} "
                f"{situation.owner_of(first).rpartition('/')[2]} -n {pods.records[first].metadata.namespace}",
            )
        ]
    full = beside & situation.rejected_by("NodeResourcesFit") & ~situation.rejected_by(*_NOT_BY_PODS)
    yield Diagnosis(
        rule="affinity-elsewhere",
        cause=f"pod affinity wants {_required_words(situation, situation.pod)}: {where}; {domains}{'; '.join(reasons)}; "
        f"{could} could hold the pod, but {'has' if free.sum() == 1 else 'have'} none of these pods",
        remedies=(nodes_like(situation.cluster, situation.names(full)[0], 1, within=-1),)
        if zone and full.any()
        else (),
        advice=tuple(advice),
    )


def _moves(situation: Situation, index: int, free: Mask) -> Iterator[Advice]:
    """Yield the move of a pod to a node that has room for it beside this pod, if its controller recreates it there."""
    pods, columns = situation.cluster.pods, situation.columns
    owner, pod = pods.owner(index), pods.pod(index)
    if owner is None or owner.kind in NODE_BOUND or any(volume.persistent_volume_claim for volume in pod.spec.volumes):
        return
    room = free.copy()
    for name, column in columns.index.items():
        both = situation.requests.get(name, 0) + int(columns.per_class[column][pods.class_id[index]])
        room &= situation.offered(name) - situation.used(name) >= both
    for target in situation.names(room)[:1]:
        host, key = pods.records[index].node_name, pods.key(index)
        yield Advice(
            summary=f"let {key} move to {target}, which has room for both",
            risk=Risk.EVICTION,
            untried="the scheduler chooses the node of its new pod, and the old one restarts",
            command=f"# kubectl cordon {host}, {delete_command((key,))}, and kubectl uncordon {host} once the new pod runs",
        )


def _on_nodes(situation: Situation, classes: Mask) -> Mask:
    """Return the pods of some classes that are on a node: bool, shape (n_pods,)."""
    pods = situation.cluster.pods
    found: Mask = classes[pods.class_id] & (pods.node_row >= 0)
    return found


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


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
            key = each.key
            known = written.label_selector or LabelSelector()
            others = tuple(each for each in known.match_expressions if each.key != key)
            yield situation.context().pod_patch(
                f"{other} instead of {each} in the pod affinity",
                add_operation(
                    LabelSelector(match_labels={**known.match_labels, key: value}, match_expressions=others),
                    *_PATH,
                    i,
                    "labelSelector",
                ),
                risk=Risk.MISTAKE,
                family=("pod affinity", i),
            )


_KINDS: Final = {each.__name__: each for each in (Deployment, ReplicaSet, StatefulSet)}


def anti_affinity(situation: Situation) -> Iterator[Diagnosis]:
    """Required anti-affinity with pods in every domain within reach, of the pod itself or of these pods.

    A single pod can block a whole zone. If these are pods of the pod's own workload, it has more replicas than there are
    nodes, or zones. Operators add one, want fewer replicas, or make the anti-affinity a preference. If the anti-affinity is
    that of other pods, nothing in the pod's own manifest shows it. Operators correct the term there, or add a node. Pods of
    other workloads are rarely to be kept out of a whole zone: by node is enough. To delete one of these pods does not help,
    as its controller recreates it, and then that pod is pending.
    """
    # Yield the pods in the way, if anti-affinity is what keeps the pod away from the nodes that could hold it.
    if not situation.filtered or situation.is_of_daemon_set:
        return
    others = [plugin for plugin in situation.rejected if plugin != _PLUGIN]
    nodes = situation.in_reach & situation.rejected_by(_PLUGIN) & ~situation.rejected_by(*others)
    found = [
        each for row in all_rows(nodes) for each in situation.operands(row, _PLUGIN) if isinstance(each, PodsInTheWay)
    ]
    advice: list[Advice] = []
    kind, namespace, name = situation.workload
    own = [each for each in found if isinstance(each, OwnAntiAffinity)]
    domains = {
        (each.topology_key, each.domain) for each in own if _owner_in_the_way(situation, each) == situation.workload
    }
    keys = {key for key, _ in domains}
    if len(keys) == 1 and kind in _KINDS:
        key = next(iter(keys))
        if key != HOSTNAME:
            advice.append(
                Advice(
                    summary=f"add a node in another {key}: {listed(sorted(value for _, value in domains))} "
                    f"{'has' if len(domains) == 1 else 'have'} a pod of {kind} {namespace}/{name} each",
                    risk=Risk.CAPACITY,
                    untried="the snapshot has no such node to copy",
                )
            )
        fitting = max(len(domains), _running(situation))
        if _replicas(situation) > fitting:
            number = counted(fitting, "replica")
            command = f"kubectl scale {kind.lower()} {name} -n {namespace} --replicas={fitting}"
            if (scaler := scaler_of(situation.cluster, situation.workload)) is not None:
                number = f"{scaler_field(scaler, 'maxReplicas')} {fitting}, for {counted(fitting, 'replica')}"
                command = f"kubectl edit hpa -n {namespace} {scaler.name}"
            advice.append(
                Advice(
                    summary=f"{number} of {kind} {namespace}/{name}: one per {'node' if key == HOSTNAME else key}",
                    risk=Risk.REDUCED,
                    untried="its controller then deletes the pods that are too many",
                    command=command,
                )
            )
    remedies = tuple(_by_hostname(situation, own))
    existing = Counter(_owner_in_the_way(situation, each) for each in found if isinstance(each, ExistingAntiAffinity))
    for (other, space, title), _ in existing.most_common(1):
        advice.append(
            Advice(
                summary=f"correct the required anti-affinity of {other} {space}/{title}, if it is not meant for this pod",
                risk=Risk.SHARED,
                untried="its pods are replaced first, as running pods keep their anti-affinity",
                command=f"# kubectl edit {other.lower()} {title} -n {space}",
            )
        )
    if advice or remedies:
        base = next(obstacles.obstacles(situation))
        yield Diagnosis(
            rule="anti-affinity", cause=base.cause, evidence=base.evidence, remedies=remedies, advice=tuple(advice)
        )


def _by_hostname(situation: Situation, own: list[OwnAntiAffinity]) -> Iterator[Remedy]:
    """Yield the terms of the pod's anti-affinity with pods of other workloads, each kept apart by node instead."""
    affinity = situation.pod.spec.affinity
    apart = affinity.pod_anti_affinity if affinity is not None else None
    keys = {each.topology_key for each in own if _owner_in_the_way(situation, each) != situation.workload} - {HOSTNAME}
    for i, term in enumerate(apart.required_during_scheduling_ignored_during_execution if apart is not None else ()):
        if term.topology_key in keys:
            yield situation.context().pod_patch(
                f"anti-affinity by {HOSTNAME} instead of {term.topology_key}",
                replace_operation(HOSTNAME, *_APART, i, "topologyKey"),
                risk=Risk.REDUCED,
                family=("anti-affinity by node", i),
                within=-1,
            )


def _replicas(situation: Situation) -> int:
    """Return the number of replicas of the pod's workload that its manifest wants; 0 if it is not known."""
    kind, namespace, name = situation.workload
    found = situation.cluster.get(_KINDS[kind], name, namespace)
    wanted = getattr(getattr(found, "spec", None), "replicas", None)
    return wanted if isinstance(wanted, int) else 0


def _running(situation: Situation) -> int:
    """Return the number of pods of the workload that are on nodes, some of which other filters may reject."""
    kind, namespace, name = situation.workload
    made = pods_made_by(situation.cluster, _KINDS[kind], namespace, name)
    return int((situation.cluster.pods.node_row[made] >= 0).sum())


def _owner_in_the_way(situation: Situation, each: PodsInTheWay) -> tuple[str, str, str]:
    namespace, _, name = each.pod.partition("/")
    index = situation.cluster.pods.index.get((namespace, name))
    if index is None:
        return "Pod", namespace, name
    return workload_of(situation.cluster, situation.cluster.pods.records[index].metadata)


_HOST_PORT_TAKEN_PLUGIN: Final = "NodePorts"
#: The reasons of at most 50 nodes are looked at.
_SAMPLE: Final = 50
#: At most 100 other numbers are looked at for a free one.
_SEARCHED: Final = 100
_LAST_PORT: Final = 65535

Workload = tuple[str, str, str]


def host_port_taken(situation: Situation) -> Iterator[Diagnosis]:
    """A host port that a pod of another workload uses on every node that could hold the pod.

    Two installations of the same agent, such as two node exporters, want the same port of every node. Deleting the pod in
    the way does not help, as its controller recreates it. Operators remove one of the two workloads, or give one of them
    another port.
    """
    # Yield the host port and the workload that uses it, if nodes lack nothing else.
    if not situation.filtered:
        return
    others = [plugin for plugin in situation.rejected if plugin != _HOST_PORT_TAKEN_PLUGIN]
    nodes = situation.in_reach & situation.rejected_by(_HOST_PORT_TAKEN_PLUGIN) & ~situation.rejected_by(*others)
    if not nodes.any():
        return
    holders: Counter[tuple[HostPort, Workload]] = Counter()
    example: dict[Workload, Pod] = {}
    for row in all_rows(nodes)[:_SAMPLE]:
        for one in situation.operands(row, _HOST_PORT_TAKEN_PLUGIN):
            namespace, _, name = one.pod.partition("/") if isinstance(one, PortInUse) else ("", "", "")
            index = situation.cluster.pods.index.get((namespace, name))
            if isinstance(one, PortInUse) and index is not None:
                found = situation.cluster.pods.pod(index)
                workload = workload_of(situation.cluster, found.metadata)
                holders[one.port, workload] += 1
                example.setdefault(workload, found)
    if not holders:
        return
    (port, workload), _ = holders.most_common(1)[0]
    # Replicas of the same workload are spread over nodes on purpose: they need more nodes, no other port.
    if workload != situation.workload:
        holder = example[workload]
        number = int(nodes.sum())
        named = listed(situation.names(nodes)) if number <= 2 else f"{number} nodes"
        where = f"its node {named}" if situation.is_of_daemon_set else named
        rest = situation.in_reach & ~nodes
        cause = f"host port {port} is taken on {where} by {_workload_words(workload)} (pod {holder.key})"
        advice = Advice(
            summary=f"remove one of {_workload_words(situation.workload)} and {_workload_words(workload)}: both want host port {port.port}",
            risk=Risk.MISTAKE if _same_program(situation.pod, holder) else Risk.POD,
            untried="the snapshot does not show which of the two is needed",
            command="# helm list -A; then uninstall or disable one of the two",
        )
        remedy = _other_port(situation, nodes, port, workload)
        yield Diagnosis(
            rule="host-port-taken",
            cause=together(situation, cause, obstacles_on(situation, rest)),
            evidence=("both run the same program, by the names of their images",)
            if _same_program(situation.pod, holder)
            else (),
            remedies=(remedy,) if remedy is not None else (),
            advice=(advice,) if _same_program(situation.pod, holder) or situation.is_of_daemon_set else (),
        )


def _workload_words(workload: Workload) -> str:
    kind, namespace, name = workload
    return f"{kind} {namespace}/{name}"


def _same_program(one: Pod, other: Pod) -> bool:
    """Report whether the pods have an image in common, apart from registry and version."""
    return not _programs(one).isdisjoint(_programs(other))


def _programs(pod: Pod) -> set[str]:
    return {
        container.image.rpartition("/")[2].partition("@")[0].partition(":")[0] for container in pod.spec.containers
    } - {""}


def _other_port(situation: Situation, nodes: Mask, port: HostPort, workload: Workload) -> Remedy | None:
    """Return the next host port that is free on all the nodes; ``None`` if the pod's workload cannot change it."""
    pods = situation.cluster.pods
    running = (index for row in all_rows(nodes)[:_SAMPLE] for index in pods.on_node(row).tolist())
    using = (situation.pod, *(pods.classes[pods.class_id[index]].pod for index in running))
    taken = {each.port for pod in using for each in host_ports(pod)}
    last = min(port.port + _SEARCHED, _LAST_PORT)
    other = next((number for number in range(port.port + 1, last) if number not in taken), None)
    patch = list(_patch(situation.pod, port, other)) if other is not None else []
    if not patch:
        return None
    listening = "; the container must listen there, too" if situation.pod.spec.host_network else ""
    return situation.context().pod_patch(
        f"host port {other} instead of {port.port}, which {_workload_words(workload)} uses{listening}",
        *patch,
        risk=Risk.POD,
        family=("other host port", port),
    )


def _patch(pod: Pod, port: HostPort, other: int | None) -> Iterator[Operation]:
    """Yield the operations that change a host port; with the host's network, the container's port is the same."""
    for field, containers in (("containers", pod.spec.containers), ("initContainers", pod.spec.init_containers)):
        for i, container in enumerate(containers):
            for j, each in enumerate(container.ports):
                if each.host_port == port.port and (each.protocol or "TCP") == port.protocol:
                    at = ("spec", field, i, "ports", j)
                    yield replace_operation(other, *at, "hostPort")
                    if pod.spec.host_network:
                        yield replace_operation(other, *at, "containerPort")
