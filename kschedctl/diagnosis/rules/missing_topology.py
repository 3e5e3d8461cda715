"""A hard spread constraint or pod affinity over a topology key that no node within reach has.

Nodes without the label belong to no domain, so none of them can take the pod. Clouds label nodes with their zone and
region; on bare metal nobody does, unless an administrator labels the nodes with their rack or room. Operators label the
nodes, spread over a label that they have, or make the constraint soft. A key with a typing mistake is corrected.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.common.wording import listed, meant
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis
from kschedctl.diagnosis.node_labels import PRESENT_LABELS
from kschedctl.diagnosis.rules.obstacles import scope_of
from kschedctl.diagnosis.situation import Situation
from kschedctl.objects.well_known import HOSTNAME
from kschedctl.scheduler.framework.remedy import Remedy, Risk, replace_operation
from kschedctl.scheduler.plugins.pod_topology_spread.filtering import DO_NOT_SCHEDULE

_SPREAD: Final = "PodTopologySpread"
_AFFINITY: Final = "InterPodAffinity"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
#: Parts of label keys that name a place.
_PLACES: Final = ("zone", "region", "rack", "room", "row", "datacenter", "host")

Path = tuple[str | int, ...]


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the topology keys that no node within reach has."""
    reach = situation.in_reach
    if not situation.filtered or not reach.any():
        return
    for plugin, key, path in _keys(situation):
        present = situation.cluster.nodes.labels[key].present
        if not bool(situation.rejected_by(plugin)[reach].all()) or (present & reach).any():
            continue
        what = "spread" if plugin == _SPREAD else "pod affinity"
        others = _other_keys(situation, key)
        nodes, scope = scope_of(situation)
        subject = "no node" if int(nodes.sum()) > 1 else f"the only node, {situation.names(nodes)[0]},"
        verb = "has" if int(nodes.sum()) > 1 else "lacks"
        yield Diagnosis(
            rule="missing-topology",
            cause=f"{subject}{scope} {verb} the label {key}, over which the {what} counts domains",
            evidence=(f"nodes have {listed(others)}",) if others else (),
            remedies=tuple(_corrections(situation, key, path)),
            advice=()
            if _spelled(situation, key)
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


def _other_keys(situation: Situation, key: str) -> list[str]:
    """Return labels of the nodes that name a place."""
    keys = {each for node in situation.nodes(situation.in_reach) for each in node.metadata.labels}
    return sorted(each for each in keys if each != key and any(word in each.rpartition("/")[2] for word in _PLACES))


def _spelled(situation: Situation, key: str) -> list[str]:
    """Return the labels of nodes that a key was probably meant for."""
    keys = {each for node in situation.nodes(situation.in_reach) for each in node.metadata.labels}
    known = {**PRESENT_LABELS, **{new: old for old, new in PRESENT_LABELS.items()}}
    if known.get(key) in keys:
        return [known[key]]
    name = key.rpartition("/")[2]
    same_name = [each for each in keys if each.rpartition("/")[2] == name]
    return meant(key, keys) or (sorted(same_name) if len(same_name) == 1 else [])


def _corrections(situation: Situation, key: str, path: Path) -> Iterator[Remedy]:
    for other in _spelled(situation, key):
        yield situation.context().pod_patch(
            f"topologyKey {other} instead of {key}",
            replace_operation(other, *path),
            risk=Risk.MISTAKE,
            family=("topologyKey", key),
        )
    if not _spelled(situation, key) and path[1] == "topologySpreadConstraints" and key != HOSTNAME:
        yield situation.context().pod_patch(
            f"spread over {HOSTNAME} instead of {key}",
            replace_operation(HOSTNAME, *path),
            risk=Risk.REDUCED,
            family=("topologyKey", key),
        )
