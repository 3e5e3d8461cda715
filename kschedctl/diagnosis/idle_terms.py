"""Terms and constraints of a pod that do nothing, as no node has their topology key, and the keys that were meant."""

from collections.abc import Iterator

import numpy as np

from kschedctl.common.arrays import Mask
from kschedctl.common.wording import listed, meant
from kschedctl.diagnosis.diagnosis import Situation
from kschedctl.objects.well_known import PRESENT_LABELS
from kschedctl.scheduler.plugins.pod_topology_spread.filtering import DO_NOT_SCHEDULE


def idle_terms(situation: Situation) -> Iterator[str]:
    """Yield the terms and constraints of the pod that do nothing, as no node has their topology key.

    Preferences change no score then, and required anti-affinity keeps nothing apart. Required affinity and hard spread
    constraints reject every node instead (the rule ``missing-topology``).
    """
    spec, labels = situation.pod.spec, situation.cluster.nodes.labels
    keys = [
        ("the ScheduleAnyway spread", each.topology_key)
        for each in spec.topology_spread_constraints
        if each.when_unsatisfiable != DO_NOT_SCHEDULE
    ]
    near = spec.affinity.pod_affinity if spec.affinity is not None else None
    apart = spec.affinity.pod_anti_affinity if spec.affinity is not None else None
    for what, affinity in (("affinity", near), ("anti-affinity", apart)):
        preferred = affinity.preferred_during_scheduling_ignored_during_execution if affinity is not None else ()
        keys += [(f"the preferred pod {what}", each.pod_affinity_term.topology_key) for each in preferred]
    required = apart.required_during_scheduling_ignored_during_execution if apart is not None else ()
    keys += [("the required pod anti-affinity", each.topology_key) for each in required]
    for what, key in dict.fromkeys(keys) if situation.n_nodes else ():
        if not labels[key].present.any():
            other = meant_keys(situation, key, np.ones(situation.n_nodes, dtype=np.bool_))
            there = f"; nodes have {listed(other, 'or')}" if other else ""
            yield f"{what} by {key} does nothing: no node has this label{there}"


def meant_keys(situation: Situation, key: str, nodes: Mask) -> list[str]:
    """Return the labels of nodes that a key was probably meant for."""
    keys = {each for node in situation.nodes(nodes) for each in node.metadata.labels}
    known = {**PRESENT_LABELS, **{new: old for old, new in PRESENT_LABELS.items()}}
    if known.get(key) in keys:
        return [known[key]]
    name = key.rpartition("/")[2]
    same_name = [each for each in keys if each.rpartition("/")[2] == name]
    return meant(key, keys) or (sorted(same_name) if len(same_name) == 1 else [])
