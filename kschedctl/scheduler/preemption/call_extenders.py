"""The extenders that support preemption (upstream ``callExtenders``): they decline candidates or change victims.

From candidates to candidates: each extender is called with the candidates that the extender before it accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from msgspec import structs

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import PodsInWorlds
from kschedctl.controllers.workloads.template import uid_of
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.cycle_state import CycleState, NotModelled
from kschedctl.scheduler.framework.extender import Extender, ExtenderError, MetaVictims, Victims
from kschedctl.scheduler.framework.interface import PluginsRunner
from kschedctl.scheduler.preemption.dry_run_preemption import DryRun

#: A candidate's victims by index, and the number of evictions that violate a budget.
_Found = tuple[tuple[int, ...], int]


def call_extenders(framework: PluginsRunner, state: CycleState, pod: Pod, run: DryRun) -> DryRun:
    """Call the extenders that support preemption and are interested in the pod.

    Parameters
    ----------
    framework : PluginsRunner
        The pod's profile.
    state : CycleState
        The cycle state, in which failures of ignorable extenders are recorded.
    pod : Pod
        The preemptor.
    run : DryRun
        The result of the dry run, with at least one candidate.

    Returns
    -------
    DryRun
        The result with the remaining candidates; ``run`` itself if no extender is called.

    Raises
    ------
    ExtenderError
        If an extender that is not ignorable fails, or if a response is inconsistent with the cluster.
    """
    cluster = framework.cluster
    extenders = [each for each in framework.handle.extenders if each.config.preempt_verb and each.is_interested(pod)]
    if not extenders:
        return run
    found = _candidates(cluster, run)
    declined: dict[int, str] = {}
    for extender in extenders:
        given = {name: Victims(_pods(cluster, pods), violations) for name, (pods, violations) in found.items()}
        try:
            answer = extender.process_preemption(pod, given)
            left = _converted(cluster, extender, answer)
        except ExtenderError as error:
            if not extender.config.ignorable:
                raise
            effect = f"it is ignorable and its preempt call failed: {error}"
            state.not_modelled.append(NotModelled(f"the extender {extender.name}", effect))
            continue
        for name in [name for name, (pods, _) in left.items() if not pods]:
            if not extender.config.ignorable:
                raise ExtenderError(f'expected at least one victim pod on node "{name}"')
            del left[name]
        declined |= {cluster.nodes.row[name]: extender.name for name in found.keys() - left.keys()}
        found = left
        if not found:
            break
    return _with_candidates(cluster, run, found, declined)


def _candidates(cluster: Cluster, run: DryRun) -> dict[str, _Found]:
    counts = run.violations
    return {
        cluster.nodes.names[row]: (
            tuple(run.victims.pods[i] for i in run.victims.entries(world)),
            int(counts[world]),
        )
        for world, row in enumerate(run.victims.rows.tolist())
    }


def _pods(cluster: Cluster, indices: tuple[int, ...]) -> tuple[Pod, ...]:
    """Return the stored pods, each with its node name."""
    pods = cluster.pods
    return tuple(
        structs.replace(pod, spec=structs.replace(pod.spec, node_name=pods.records[index].node_name))
        for index in indices
        for pod in (pods.pod(index),)
    )


def _converted(cluster: Cluster, extender: Extender, answer: Mapping[str, MetaVictims]) -> dict[str, _Found]:
    """Return an extender's response with pod indices instead of uids; any pod of the node may be a victim."""
    found: dict[str, _Found] = {}
    for name in sorted(answer):
        row = cluster.nodes.row.get(name)
        if row is None:
            raise ExtenderError(f'nodeinfo not found for node name "{name}"')
        on_node = np.flatnonzero(cluster.pods.node_row == row).tolist()
        known = {uid_of(cluster.pods.pod(index)): index for index in on_node}
        missing = next((uid for uid in answer[name].uids if uid not in known), None)
        if missing is not None:
            raise ExtenderError(
                f"extender: {extender.name} claims to preempt pod (UID: &{{{missing}}}) on node: {name}, "
                "but the pod is not found on that node"
            )
        found[name] = tuple(known[uid] for uid in answer[name].uids), answer[name].num_pdb_violations
    return found


def _with_candidates(cluster: Cluster, run: DryRun, found: Mapping[str, _Found], declined: Mapping[int, str]) -> DryRun:
    ordered = sorted((cluster.nodes.row[name], *victims) for name, victims in found.items())
    rows = np.array([row for row, _, _ in ordered], dtype=np.int64)
    worlds = np.repeat(np.arange(len(ordered)), [len(pods) for _, pods, _ in ordered]).astype(np.int64)
    pods = np.array([pod for _, each, _ in ordered for pod in each], dtype=np.int64)
    return replace(
        run,
        victims=PodsInWorlds(rows, worlds, pods),
        # Budget violations are known only for the victims that the dry run chose.
        violating=np.isin(pods, run.victims.pods[run.violating]),
        counted=np.array([violations for _, _, violations in ordered], dtype=np.int64),
        declined=declined,
    )
