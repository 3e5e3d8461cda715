"""Topology spread constraints that can never be met, or only elsewhere."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np
from msgspec import structs

from kschedctl.common.arrays import Int64Array, Mask, PodIndices
from kschedctl.common.wording import counted, listed
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.controllers.workloads.pods import REVISION_HASH, revision
from kschedctl.diagnosis.diagnosis import SELECTION, Advice, Diagnosis, Situation
from kschedctl.diagnosis.idle_terms import meant_keys
from kschedctl.diagnosis.new_nodes import nodes_like
from kschedctl.diagnosis.rules.obstacles import obstacles_on, scope_of
from kschedctl.objects.kinds import kind_by_name
from kschedctl.objects.meta import LabelSelector
from kschedctl.objects.pod import Pod
from kschedctl.objects.selectors import IN, Requirement
from kschedctl.objects.well_known import HOSTNAME, POD_TEMPLATE_HASH
from kschedctl.objects.workload import ReplicaSet
from kschedctl.scheduler.framework.remedy import Remedy, add_operation, replace_operation
from kschedctl.scheduler.framework.risk import Risk
from kschedctl.scheduler.plugins.pod_topology_spread.filtering import DO_NOT_SCHEDULE, DomainCounts, selected_classes
from kschedctl.scheduler.plugins.pod_topology_spread.plugin import PodTopologySpread

_SPREAD: Final = "PodTopologySpread"
_TAINTED: Final = ("TaintToleration", "NodeUnschedulable")
_HONOR: Final = "Honor"
#: At most 3 domains are named.
_MOST: Final = 3


class _Blocked(msgspec.Struct, frozen=True):
    """A constraint whose domains with the fewest pods can take no pod."""

    #: The counts of the constraint.
    counts: DomainCounts
    #: The position of the constraint in the pod; -1 for a default constraint of the profile.
    index: int
    #: The codes of the domains.
    domains: Int64Array
    #: The number of matching pods in each of them.
    fewest: int
    #: The nodes in these domains that count.
    nodes: Mask


def blocked_domain(situation: Situation) -> Iterator[Diagnosis]:
    """A spread constraint counts a domain that can take no pod, and so keeps the minimum low everywhere.

    A hard spread constraint compares each domain with the one that has the fewest matching pods. By default the domains of
    tainted nodes count, such as the control plane. If no node of the domain with the fewest pods can take the pod, no other
    domain may have more than maxSkew above it. Operators set ``nodeTaintsPolicy: Honor`` in the constraint, so that nodes
    whose taints the pod does not tolerate do not count. They do not tolerate the taint of the control plane. If there are
    fewer domains than minDomains, the minimum counts as 0.
    """
    # Yield the constraints whose minimum is kept low, by a domain that can take no pod or by minDomains.
    if not situation.filtered:
        return
    usable, refused = _usable(situation), refused_by_spread(situation)
    # If a node that the spread allows could hold the pod, this is not the cause.
    if not refused.any() or (usable & ~refused).any():
        return
    for index, counts in hard_constraints(situation):
        yield from _too_few_domains(situation, index, counts, refused)
        blocked = _blocked(index, counts, usable)
        if blocked is not None:
            constraint, values = blocked.counts.constraint, blocked.counts.column.values
            names = [values[code] for code in blocked.domains.tolist()]
            pods = counted(blocked.fewest, "matching pod")
            each = f"{pods}{' each' if len(names) > 1 else ''}, the fewest"
            most = blocked.fewest + constraint.max_skew
            could = f"{counted(int(refused.sum()), 'other node')} could hold the pod"
            excluded = blocked.nodes & situation.rejected_by(*SELECTION)
            rest = blocked.nodes & ~excluded
            left_out = listed(situation.names(excluded), most=_MOST)
            reasons = (
                [f"the pod's node selection excludes {left_out} (nodeAffinityPolicy is Ignore)"]
                if excluded.any()
                else []
            )
            if rest.any():
                reasons.append(obstacles_on(situation, rest))
            yield Diagnosis(
                rule="blocked-domain",
                cause=f"the spread over {constraint.topology_key} counts {listed(names, most=_MOST)} ({each}), where no pod "
                f"can go: {'; '.join(reasons)}; {could}, but may be at most {constraint.max_skew} ahead: {most} per domain "
                f"(maxSkew {constraint.max_skew})",
                remedies=tuple(_remedies(situation, blocked)),
            )


def _usable(situation: Situation) -> Mask:
    return ~situation.rejected_by(*(plugin for plugin in situation.rejected if plugin != _SPREAD))


def refused_by_spread(situation: Situation) -> Mask:
    """Return the nodes that nothing but the spread keeps from holding the pod: bool, shape (n_nodes,)."""
    return _usable(situation) & situation.rejected_by(_SPREAD)


def hard_constraints(situation: Situation) -> Iterator[tuple[int, DomainCounts]]:
    """Yield the hard constraints with their position in the pod; -1 for the defaults of the profile."""
    plugin = situation.decision.framework.plugin(_SPREAD)
    if not isinstance(plugin, PodTopologySpread):
        return
    constraints = situation.pod.spec.topology_spread_constraints
    places = [i for i, each in enumerate(constraints) if each.when_unsatisfiable == DO_NOT_SCHEDULE]
    for number, counts in enumerate(plugin.hard_domains(situation.pod)):
        yield places[number] if places else -1, counts


def _blocked(index: int, counts: DomainCounts, usable: Mask) -> _Blocked | None:
    """Return the domains with the fewest pods, if none of them has a usable node and other domains have one."""
    domains = np.flatnonzero(counts.exists)
    if not len(domains) or len(domains) < counts.constraint.min_domains:
        return None
    has_usable = np.zeros(len(counts.exists), dtype=np.bool_)
    has_usable[counts.column.codes[usable & counts.column.present]] = True
    fewest = int(counts.counts[domains].min())
    low = domains[counts.counts[domains] == fewest]
    others = has_usable & counts.exists
    # A minimum that a usable domain shares would be the same without the blocked ones.
    if has_usable[low].any() or not others.any():
        return None
    return _Blocked(counts, index, low, fewest, counts.included & np.isin(counts.column.codes, low))


def _remedies(situation: Situation, blocked: _Blocked) -> Iterator[Remedy]:
    """Yield the inclusion policies that leave the blocked domains out."""
    if blocked.index < 0:
        return
    constraint = blocked.counts.constraint
    tainted = bool((blocked.nodes & situation.rejected_by(*_TAINTED)).any()) and not constraint.honor_taints
    excluded = bool((blocked.nodes & situation.rejected_by(*SELECTION)).any()) and not constraint.honor_affinity
    full = blocked.nodes & situation.rejected_by("NodeResourcesFit") & ~situation.rejected_by(*_TAINTED, *SELECTION)
    if full.any() and constraint.topology_key != HOSTNAME:
        # A new node of another domain does not help.
        yield nodes_like(situation.cluster, situation.names(full)[0], 1, within=-1)
    fields = [*(["nodeTaintsPolicy"] if tainted else []), *(["nodeAffinityPolicy"] if excluded else [])]
    if fields:
        at = ("spec", "topologySpreadConstraints", blocked.index)
        yield situation.context().pod_patch(
            f"{' and '.join(f'{field}: {_HONOR}' for field in fields)} in the spread constraint over "
            f"{constraint.topology_key}",
            *(add_operation(_HONOR, *at, field) for field in fields),
            risk=Risk.POD,
            family="inclusion policy",
        )


def _too_few_domains(situation: Situation, index: int, counts: DomainCounts, refused: Mask) -> Iterator[Diagnosis]:
    """Yield a constraint with fewer domains than minDomains, so that the minimum counts as 0."""
    wanted, number = counts.constraint.min_domains, int(counts.exists.sum())
    if index < 0 or not 0 < number < wanted:
        return
    key, skew = counts.constraint.topology_key, counts.constraint.max_skew
    yield Diagnosis(
        rule="too-few-domains",
        cause=f"the spread over {key} has minDomains {wanted}, and {counted(number, 'domain')} "
        f"{'counts' if number == 1 else 'count'}: until there are {wanted}, each may have {skew} matching "
        f"{'pod' if skew == 1 else 'pods'}, and {counted(int(refused.sum()), 'node')} would exceed that",
        remedies=(
            situation.context().pod_patch(
                f"minDomains {number} instead of {wanted} in the spread constraint over {key}",
                add_operation(number, "spec", "topologySpreadConstraints", index, "minDomains"),
                risk=Risk.REDUCED,
                family="minDomains",
                within=-1,
            ),
        ),
        advice=(
            Advice(
                summary=f"add a node in another {key}: {wanted} are wanted, and there "
                f"{'is' if number == 1 else 'are'} {number}",
                risk=Risk.CAPACITY,
                untried="the snapshot has no such node to copy",
            ),
        )
        if key != HOSTNAME
        else (),
    )


_CONSTRAINTS: Final = ("spec", "topologySpreadConstraints")


def foreign_spread(situation: Situation) -> Iterator[Diagnosis]:
    """A hard spread constraint whose labelSelector does not match the pod itself.

    The constraint then keeps the pod away from domains because of the pods of others, and the pods of the workload are not
    spread at all. It is usually copied from another workload, or a label was renamed. Operators correct the selector. They
    do not delete the pods that it counts.
    """
    # Yield the constraints that count pods with other labels than those of the pod.
    if not situation.filtered or not refused_by_spread(situation).any():
        return
    for index, counts in hard_constraints(situation):
        selector = situation.pod.spec.topology_spread_constraints[index].label_selector if index >= 0 else None
        # A constraint without a labelSelector counts no pods, and an empty one matches the pod itself.
        if selector is None or counts.self_match or not counts.counts.any():
            continue
        labels = situation.pod.metadata.labels
        other = {key: value for key, value in selector.match_labels.items() if labels.get(key) != value}
        own = {key: labels[key] for key in other if key in labels}
        key = counts.constraint.topology_key
        has = f"has {_labels_text(own)}" if own else f"does not have {'them' if len(other) > 1 else 'it'}"
        what = (
            f"with {_labels_text(other)}, and the pod itself {has}"
            if other
            else "that its selector selects, not the pod"
        )
        corrected = len(own) == len(other) > 0
        yield Diagnosis(
            rule="foreign-spread",
            cause=f"the spread over {key} counts pods {what}",
            remedies=tuple(_corrections(situation, index, key, other, own)) if corrected else (),
            advice=()
            if corrected
            else (
                Advice(
                    summary=f"correct the labelSelector of the spread constraint over {key}, or the labels of the pod: they must "
                    "match",
                    risk=Risk.MISTAKE,
                    untried="the snapshot does not show which of them is meant",
                ),
            ),
        )


def _corrections(
    situation: Situation, index: int, key: str, other: dict[str, str], own: dict[str, str]
) -> Iterator[Remedy]:
    at = (*_CONSTRAINTS, index, "labelSelector", "matchLabels")
    yield situation.context().pod_patch(
        f"{_labels_text(own)} instead of {_labels_text(other)} in the labelSelector of the spread constraint over {key}",
        *(replace_operation(value, *at, name) for name, value in own.items()),
        risk=Risk.MISTAKE,
        family=("foreign spread", index),
    )


def _labels_text(labels: dict[str, str]) -> str:
    return listed([f"{key}={value}" for key, value in labels.items()])


#: The labels by which controllers tell the revisions of a workload apart.
_REVISIONS: Final = (POD_TEMPLATE_HASH, REVISION_HASH)


def spread_counts_others(situation: Situation) -> Iterator[Diagnosis]:
    """A hard spread constraint that also counts pods of another revision, or of other workloads.

    During a rollout, the labelSelector matches the pods of the old revision as well, which can crowd the domains that the
    new pods would be spread over. Operators add ``matchLabelKeys: [pod-template-hash]``, so that each revision is spread by
    itself. If the selector also matches pods of other workloads, they make it narrower. They do not delete the pods.
    """
    # Yield the constraints that only their other pods keep from allowing a node that could hold the pod.
    if not situation.filtered or situation.workload[0] == Pod.__name__:
        return
    refused = refused_by_spread(situation)
    if not refused.any():
        return
    for index, counts in hard_constraints(situation):
        if index >= 0 and counts.self_match:
            # Another constraint may refuse the other nodes.
            _, _, skew = counts.skew(situation.cluster.overlay())
            here = refused & counts.column.present & (skew > counts.constraint.max_skew)
            yield from _of_others(situation, index, counts, here)


def _of_others(situation: Situation, index: int, counts: DomainCounts, refused: Mask) -> Iterator[Diagnosis]:
    """Yield that one constraint counts pods of another revision, or else of other workloads.

    Args:
        refused: The nodes that only the spread refuses, and this constraint does.
    """
    cluster, pods = situation.cluster, situation.cluster.pods
    labels = situation.pod.metadata.labels
    selected, _ = selected_classes(cluster, counts.constraint, situation.pod.namespace)
    counted_pods = pods.assigned[selected[pods.class_id[pods.assigned]] > 0]
    counted_pods = counted_pods[counts.included[pods.node_row[counted_pods]]]
    own = np.array(
        [workload_of(cluster, pods.records[i].metadata) == situation.workload for i in counted_pods.tolist()],
        dtype=bool,
    )
    key, subject = counts.constraint.topology_key, f"the spread over {counts.constraint.topology_key} also counts"
    for label in (each for each in _REVISIONS if each in labels):
        same = pods.classes_matching((Requirement(label, IN, (labels[label],)),))[pods.class_id[counted_pods]]
        allowed = _allowed(situation, counts, counted_pods[same | ~own], refused)
        if allowed.any():
            others = counted_pods[own & ~same]
            keys = [*situation.pod.spec.topology_spread_constraints[index].match_label_keys, label]
            yield Diagnosis(
                rule="spread-counts-old-revision",
                cause=f"{subject} {_revision(situation, others, label)}: without {'it' if len(others) == 1 else 'them'}, "
                f"{_nodes_allowed(situation, allowed)} (maxSkew {counts.constraint.max_skew})",
                remedies=(
                    situation.context().pod_patch(
                        f"matchLabelKeys: [{', '.join(keys)}] in the spread constraint over {key}: each revision is spread "
                        "by itself",
                        add_operation(keys, *_CONSTRAINTS, index, "matchLabelKeys"),
                        risk=Risk.POD,
                        family=("matchLabelKeys", index),
                        within=-1,
                    ),
                ),
            )
            return
    allowed = _allowed(situation, counts, counted_pods[own], refused)
    narrower = _narrower(situation, index)
    if allowed.any() and narrower:
        owners = Counter(map(situation.owner_of, counted_pods[~own].tolist()))
        yield Diagnosis(
            rule="spread-counts-other-workloads",
            cause=f"{subject} {counted(int((~own).sum()), 'pod')} of {listed(list(owners), most=_MOST)}, which its "
            f"labelSelector matches, too: without {'it' if (~own).sum() == 1 else 'them'}, "
            f"{_nodes_allowed(situation, allowed)} (maxSkew {counts.constraint.max_skew})",
            remedies=(
                situation.context().pod_patch(
                    f"{_labels_text(narrower)} in the labelSelector of the spread constraint over {key}, so that it counts "
                    "no other pods",
                    *(
                        add_operation(value, *_CONSTRAINTS, index, "labelSelector", "matchLabels", name)
                        for name, value in narrower.items()
                    ),
                    risk=Risk.POD,
                    family=("narrower spread", index),
                    within=-1,
                ),
            ),
        )


def _allowed(situation: Situation, counts: DomainCounts, pods: PodIndices, refused: Mask) -> Mask:
    """Return the refused nodes that a constraint would allow if it counted only some pods."""
    only = np.zeros_like(counts.counts)
    np.add.at(only, counts.column.codes[situation.cluster.pods.node_row[pods]], 1)
    _, _, skew = structs.replace(counts, counts=only).skew(situation.cluster.overlay())
    allowed: Mask = refused & counts.column.present & (skew <= counts.constraint.max_skew)
    return allowed


def _nodes_allowed(situation: Situation, allowed: Mask) -> str:
    names = situation.names(allowed)
    return f"{listed(names, most=_MOST)} would be allowed"


def _revision(situation: Situation, others: PodIndices, label: str) -> str:
    """Return the number of pods of other revisions of the workload, with the revisions, in words."""
    pods, cluster = situation.cluster.pods, situation.cluster
    values = Counter(pods.classes[pods.class_id[i]].pod.metadata.labels.get(label, "none") for i in others.tolist())
    owners = {owner.name: owner for i in others.tolist() if (owner := pods.owner(i)) is not None}
    controller = situation.pod.metadata.controller
    mine = cluster.get(ReplicaSet, controller.name, situation.pod.namespace) if controller is not None else None
    theirs = [cluster.get(ReplicaSet, name, situation.pod.namespace) for name in owners]
    old = mine is not None and all(each is not None and revision(each) < revision(mine) for each in theirs)
    word = "old" if old else "other"
    if len(values) > 1:
        return f"{counted(len(others), 'pod')} of {len(values)} {word} revisions of {situation.owner_text}"
    return f"{counted(len(others), 'pod')} of the {word} revision {next(iter(values))} of {situation.owner_text}"


def _narrower(situation: Situation, index: int) -> dict[str, str]:
    """Return the labels of the workload's own selector that a constraint's selector lacks; empty if it is unknown."""
    kind, namespace, name = situation.workload
    known = kind_by_name(kind)
    workload = situation.cluster.get(known, name, namespace) if known is not None else None
    selector = getattr(getattr(workload, "spec", None), "selector", None)
    of_constraint = situation.pod.spec.topology_spread_constraints[index].label_selector
    if not isinstance(selector, LabelSelector) or of_constraint is None or not of_constraint.match_labels:
        return {}
    there = of_constraint.match_labels
    return {key: value for key, value in selector.match_labels.items() if there.get(key) != value}


_AFFINITY: Final = "InterPodAffinity"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
#: Parts of label keys that name a place.
_PLACES: Final = ("zone", "region", "rack", "room", "row", "datacenter", "host")

Path = tuple[str | int, ...]


def missing_topology(situation: Situation) -> Iterator[Diagnosis]:
    """A hard spread constraint or pod affinity over a topology key that no node within reach has.

    Nodes without the label belong to no domain, so none of them can take the pod. Clouds label nodes with their zone and
    region; on bare metal nobody does, unless an administrator labels the nodes with their rack or room. Operators label the
    nodes, spread over a label that they have, or make the constraint soft. A key with a typing mistake is corrected.
    """
    # Yield the topology keys that no node within reach has.
    reach = situation.in_reach
    if not situation.filtered or not reach.any():
        return
    for plugin, key, path in _keys(situation):
        present = situation.cluster.nodes.labels[key].present
        if not bool(situation.rejected_by(plugin)[reach].all()) or (present & reach).any():
            continue
        what = "spread" if plugin == _SPREAD else "pod affinity"
        keys = {each for node in situation.nodes(situation.in_reach) for each in node.metadata.labels}
        others = sorted(
            each for each in keys if each != key and any(word in each.rpartition("/")[2] for word in _PLACES)
        )
        nodes, scope = scope_of(situation)
        subject = "no node" if int(nodes.sum()) > 1 else f"the only node, {situation.names(nodes)[0]},"
        verb = "has" if int(nodes.sum()) > 1 else "lacks"
        spelled, patch, family = meant_keys(situation, key, reach), situation.context().pod_patch, ("topologyKey", key)
        remedies = [
            patch(
                f"topologyKey {other} instead of {key}",
                replace_operation(other, *path),
                risk=Risk.MISTAKE,
                family=family,
            )
            for other in spelled
        ]
        if not spelled and path[1] == "topologySpreadConstraints" and key != HOSTNAME:
            summary, change = f"spread over {HOSTNAME} instead of {key}", replace_operation(HOSTNAME, *path)
            remedies.append(patch(summary, change, risk=Risk.REDUCED, family=family))
        yield Diagnosis(
            rule="missing-topology",
            cause=f"{subject}{scope} {verb} the label {key}, over which the {what} counts domains",
            evidence=(f"nodes have {listed(others)}",) if others else (),
            remedies=tuple(remedies),
            advice=()
            if spelled
            else (
                Advice(
                    summary=f"label the nodes with {key}, each with the place that it is in",
                    risk=Risk.SHARED,
                    untried="the snapshot does not show where the nodes are",
                    command=f"# kubectl label node NODE {key}=PLACE, for each node",
                ),
            ),
        )
        return


def _keys(situation: Situation) -> Iterator[tuple[str, str, Path]]:
    """Yield the topology keys that nodes must have: the plugin that requires it, the key, and its path in the pod."""
    spec = situation.pod.spec
    for i, constraint in enumerate(spec.topology_spread_constraints):
        if constraint.when_unsatisfiable == DO_NOT_SCHEDULE:
            yield _SPREAD, constraint.topology_key, ("spec", "topologySpreadConstraints", i, "topologyKey")
    affinity = spec.affinity.pod_affinity if spec.affinity is not None else None
    for i, term in enumerate(affinity.required_during_scheduling_ignored_during_execution if affinity else ()):
        yield _AFFINITY, term.topology_key, ("spec", "affinity", "podAffinity", _REQUIRED, i, "topologyKey")
