"""What the real filters say for the solver: where a pod may go at all, and on what among other pods that depends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kschedctl.api.pod import Pod
from kschedctl.api.resources import pod_requests, scheduler_units
from kschedctl.api.selectors import SelectorError
from kschedctl.arrays import Int64Array, Mask
from kschedctl.framework.extension_point import ExtensionPoint
from kschedctl.framework.interface import FilterPlugin, PluginError
from kschedctl.framework.runtime import Framework
from kschedctl.framework.scoring import run_score
from kschedctl.framework.status import Code
from kschedctl.plugins.inter_pod_affinity.filtering import FilterState
from kschedctl.plugins.inter_pod_affinity.plugin import InterPodAffinity
from kschedctl.plugins.node_ports import HostPort, NodePorts, host_ports
from kschedctl.plugins.node_resources.allocation import spec_only
from kschedctl.plugins.node_resources.fit import NodeResourcesFit
from kschedctl.plugins.pod_topology_spread.filtering import DomainCounts
from kschedctl.plugins.pod_topology_spread.plugin import PodTopologySpread
from kschedctl.scheduler.cycle import rows_in_question
from kschedctl.scheduler.scheduler import Scheduler

#: The filters whose answer may turn for the better once other pods are placed, or that the model has exactly.
_MODELLED: Final = frozenset({NodeResourcesFit.name, InterPodAffinity.name, PodTopologySpread.name})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sifted:
    """What the filters say of pods that are alike, over the cluster without those who may leave.

    Attributes
    ----------
    allowed : ndarray of bool, shape (n_nodes,)
        Where they may go as far as placed pods have no say.
    refusal : str
        Why they can go nowhere, whatever is placed; empty where they can.
    wanted : dict of str to int
        What a pod must find on its node; empty where resources are not asked.
    used : dict of str to int
        What it uses up there.
    ports : tuple of HostPort
        The host ports that it wants.
    affinity : FilterState or None
        Matches of required terms; ``None`` where they are not asked.
    spread : tuple of DomainCounts
        Matching pods of hard constraints.
    scores : ndarray of int64, shape (n_nodes,)
        What the scheduler would give each allowed node as the cluster is.
    """

    allowed: Mask
    refusal: str
    wanted: dict[str, int]
    used: dict[str, int]
    ports: tuple[HostPort, ...]
    affinity: FilterState | None
    spread: tuple[DomainCounts, ...]
    scores: Int64Array


def sift(scheduler: Scheduler, pod: Pod) -> Sifted:
    """Ask the filters about a pod."""
    framework = scheduler.framework(pod.spec.scheduler_name)
    asked = framework.plugin_names(ExtensionPoint.FILTER, FilterPlugin)
    n_nodes = len(scheduler.cluster.nodes)
    allowed, scores = np.zeros(n_nodes, dtype=np.bool_), np.zeros(n_nodes, dtype=np.int64)
    affinity: FilterState | None = None
    spread: tuple[DomainCounts, ...] = ()
    try:
        refusal = _filtered(framework, pod, allowed, scores)
        if not refusal and InterPodAffinity.name in asked:
            affinity = framework.plugin(InterPodAffinity.name).hard_counts(pod)  # type: ignore[attr-defined]
        if not refusal and PodTopologySpread.name in asked:
            spread = framework.plugin(PodTopologySpread.name).hard_domains(pod)  # type: ignore[attr-defined]
    except (PluginError, SelectorError) as error:
        refusal = str(error)
    wanted = {}
    if NodeResourcesFit.name in asked:
        plugin = framework.plugin(NodeResourcesFit.name)
        assert isinstance(plugin, NodeResourcesFit)
        wanted = plugin.wanted(pod)
    for counts in affinity.affinity if affinity is not None else ():
        allowed &= counts.column.present
    for domains in spread:
        allowed &= domains.column.present
    rules = spec_only(framework.handle.request_rules, pod_level=True)
    return Sifted(
        allowed=allowed if not refusal else np.zeros(n_nodes, dtype=np.bool_),
        refusal=refusal,
        wanted=wanted,
        used={**scheduler_units(pod_requests(pod, rules)), "pods": 1},
        ports=host_ports(pod) if NodePorts.name in asked else (),
        affinity=affinity,
        spread=spread,
        scores=scores,
    )


def _filtered(framework: Framework, pod: Pod, allowed: Mask, scores: Int64Array) -> str:
    """Mark the nodes that no other than the modelled filters turn away, and score them; why there are none."""
    state = framework.new_state(pod)
    try:
        outcome = framework.run_pre_filter(state, pod)
        if outcome.status.code is not Code.SUCCESS:
            return outcome.status.message
        rows = rows_in_question(framework, outcome)
        run = framework.run_filters(state, pod, framework.overlay_with_nominated_pods(pod, rows))
        passed = np.ones(len(rows), dtype=np.bool_)
        for name, rejections in run.rejections.items():
            if name not in _MODELLED:
                passed &= ~rejections.rejected
        rows = rows[passed]
        allowed[rows] = True
        if len(rows):
            scores[rows] = run_score(framework, state, pod, rows).total
        return ""
    finally:
        state.kept = None
