"""Changes that let a drain go on where a disruption budget refuses an eviction.

Never proposed: to skip the budgets (``--disable-eviction``) and to delete pods by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import counted, listed
from kschedctl.controllers.disruption import BudgetedPods, counted_budget, find_workload, scale_of
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.diagnosis.evictions import BlockedEviction, replicas_to_evict, with_limit
from kschedctl.diagnosis.new_nodes import nodes_like
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import Deployment, PodDisruptionBudget, StatefulSet
from kschedctl.questions.analyses.drain.trials import DrainChange, Trials
from kschedctl.scheduler.volumes.attach_once import attach_once_claims
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.simulate.rollout import restarted, roll_out
from kschedctl.trials.whatif.effects import set_replicas
from kschedctl.trials.whatif.patches import make_changes

#: A workload is scaled to at most this multiple of its replicas; a larger one is no cure for a drain.
_MOST_TIMES: Final = 2


def scaled(cluster: LoadedCluster, end: Cluster, blocked: BlockedEviction) -> Iterator[DrainChange]:
    """Yield a larger number of replicas of a stateless workload.

    Replicas of a StatefulSet are members, often of a quorum, which one more member does not make safer. Replicas
    that share a disk cannot run on several nodes.
    """
    budget, pod = blocked.budgets[0], blocked.pods[0]
    found = BudgetedPods(end, budget)
    kind, namespace, name = key = workload_of(end, pod.metadata)
    if kind == StatefulSet.__name__:
        return
    scale, enough = scale_of(end, key), replicas_to_evict(found)
    if scale is None or enough is None or enough <= found.expected or next(attach_once_claims(end, pod), None):
        return
    wanted = scale + enough - found.expected
    if wanted > _MOST_TIMES * scale:
        return

    release = cluster.release_choice.release

    def make(before: Cluster) -> Cluster:
        larger, _ = set_replicas(before, kind, (namespace, name), wanted, release=release)
        return larger.with_added([counted_budget(larger, budget)])

    yield DrainChange(
        summary=f"scale {kind} {name} to {counted(wanted, 'replica')} for the time of the drain",
        commands=(f"kubectl scale {kind.lower()}/{name} -n {namespace} --replicas={wanted}",),
        make=make,
    )


def restart(trials: Trials, end: Cluster, blocked: BlockedEviction) -> Iterator[DrainChange]:
    """Yield a restart of the Deployment, whose surge pods avoid the cordoned node."""
    kind, namespace, name = key = workload_of(end, blocked.pods[0].metadata)
    workload = find_workload(end, key)
    if not isinstance(workload, Deployment):
        return

    def make(cluster: Cluster) -> Cluster | None:
        loaded = trials.cluster.moved(cluster)
        out = roll_out(
            loaded.scheduler, restarted(workload), admit=lambda pod: loaded.admit(pod).pod, where=workload.ref
        )
        return out.after if out.finished and out.lowest >= out.before else None

    cordoned = "the node is" if len(trials.left) == 1 else "the nodes are"
    yield DrainChange(
        summary=f"kubectl rollout restart of {kind} {name} while {cordoned} cordoned",
        commands=(
            f"kubectl cordon {' '.join(trials.left)}",
            f"kubectl rollout restart {kind.lower()}/{name} -n {namespace}",
        ),
        make=make,
        note="new pods are ready before old ones end",
    )


def one_may_go(end: Cluster, blocked: BlockedEviction) -> DrainChange:
    """Return the budget that allows one eviction at a time, with a number where the pods cannot be counted."""
    budget = blocked.budgets[0]
    found = BudgetedPods(end, budget)
    limit = found.limit or ("minAvailable", budget.status.desired_healthy)
    field, value = ("minAvailable", max(len(found.pods) - 1, 0)) if found.uncounted else ("maxUnavailable", 1)
    instead = f" instead of {limit[0]} {limit[1]}"
    other = "minAvailable" if field == "maxUnavailable" else "maxUnavailable"
    drop = f', "{other}": null' if limit[0] == other else ""
    return DrainChange(
        summary=f"set {field}: {value} in budget {budget.namespace}/{budget.name}{instead}",
        commands=(
            f"kubectl patch pdb {budget.name} -n {budget.namespace} --type=merge "
            f'-p \'{{"spec": {{"{field}": {value}{drop}}}}}\'',
        ),
        make=lambda cluster: cluster.with_added([with_limit(cluster, _stored(cluster, budget), field, value)]),
        note="; ".join((_while_down(found), *_set_back(budget))),
    )


def _while_down(found: BudgetedPods) -> str:
    """Return the consequence of evicting one pod of a budget."""
    if len(found.pods) != 1:
        return "one pod at a time"
    kind, _, name = found.workloads[0]
    return "nothing recreates it" if kind == "Pod" else f"{kind} {name} is down until its new pod is ready"


def _set_back(budget: PodDisruptionBudget) -> tuple[str, ...]:
    """Return the controller that may undo a change of the budget."""
    owner = budget.metadata.controller
    return (f"{owner.kind} {owner.name} owns the budget and may set it back",) if owner is not None else ()


def one_node_more(cluster: Cluster, model: str) -> DrainChange:
    """Return one more node like a drained one."""
    remedy = nodes_like(cluster, model, 1)
    changes = (*remedy.changes, *remedy.follows)
    return DrainChange(
        summary=remedy.summary,
        commands=(remedy.command,),
        make=lambda other: make_changes(other, Pod(), changes).cluster,
    )


def always_allow(blocked: BlockedEviction) -> DrainChange:
    """Return the budget with the policy that lets pods go that are not ready."""
    budget = blocked.budgets[0]

    def make(cluster: Cluster) -> Cluster:
        stored = _stored(cluster, budget)
        spec = replace(stored.spec, unhealthy_pod_eviction_policy="AlwaysAllow")
        return cluster.with_added([replace(stored, spec=spec)])

    return DrainChange(
        summary=f"set unhealthyPodEvictionPolicy: AlwaysAllow in budget {budget.namespace}/{budget.name}",
        commands=(
            f"kubectl patch pdb {budget.name} -n {budget.namespace} --type=merge "
            '-p \'{"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}}\'',
        ),
        make=make,
        note="only pods that are not ready may go",
    )


def one_budget(end: Cluster, blocked: BlockedEviction) -> Iterator[DrainChange]:
    """Yield the deletion of each budget but one, the narrowest first."""
    ordered = sorted(blocked.budgets, key=lambda budget: (len(BudgetedPods(end, budget).pods), budget.name))
    for budget in ordered:
        others = listed([other.name for other in ordered if other is not budget])
        yield DrainChange(
            summary=f"leave {blocked.pods[0].key} to one budget: delete {budget.name} or narrow its selector",
            commands=(f"kubectl delete pdb {budget.name} -n {budget.namespace}",),
            make=lambda cluster, budget=budget: cluster.without([_stored(cluster, budget)]),  # type: ignore[misc]
            note=f"budget {others} still protects the pods",
        )


def _stored(cluster: Cluster, budget: PodDisruptionBudget) -> PodDisruptionBudget:
    """Return the budget as it is in a cluster now."""
    return cluster.get(PodDisruptionBudget, budget.name, budget.namespace) or budget
