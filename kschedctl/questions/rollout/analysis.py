"""``rollout``: the rollout of a new revision of a workload, step by step."""

from kschedctl.common.wording import counted
from kschedctl.questions.explain.answer import WorkloadData
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.provenance import envelope, provenance
from kschedctl.questions.rollout.answer import RolledOut
from kschedctl.questions.rollout.cures import rollout_causes, rollout_cures, rolls_out
from kschedctl.questions.rollout.request import RolloutRequest
from kschedctl.questions.run_results import group_loss_data, losses_in_words
from kschedctl.questions.simulate.answer import PlacementData
from kschedctl.trials.completeness import Part, not_listed
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.simulate.rollout import Rollout


def rollout(cluster: LoadedCluster, request: RolloutRequest, handle: AnalysisHandle) -> RolledOut:
    """Roll out a new revision with the workload's own strategy.

    Raises ManifestError if the workload is no Deployment or StatefulSet, is not in the cluster, or an API server
        would refuse it.
    """
    cluster.require_nodes()
    workload, where = request.workload, request.where
    assert not isinstance(workload, str), "the request has found the workload"
    with handle.busy("rolling out"):
        found = rolls_out(cluster, workload, where)
    causes = rollout_causes(found)
    with handle.busy("trying cures"):
        cures = rollout_cures(cluster, found, where)
    groups = group_loss_data(found.losses)
    workload = found.workload
    made = cluster.pods_of(workload, where=where)
    pod = made[0].pod
    changed = cluster.with_made(made)
    of_pod = changed.missing_for(changed.find(pod), preempts=False, is_scored=True)
    missing = (*not_listed(cluster.cluster, Part.ROLLOUT), *of_pod)
    rests_on = provenance(cluster, missing, pod=pod, many=True)
    return RolledOut(
        **envelope(cluster.cluster, rests_on, found.not_modelled),
        summary="; ".join((_rollout_summary(found, causes[0].cause if causes else ""), *losses_in_words(groups))),
        workload=WorkloadData(type(workload).__name__, workload.namespace, workload.name, found.replicas),
        strategy=found.strategy,
        finished=found.finished,
        held=found.held,
        old=found.old,
        left=found.left,
        kept=found.kept,
        available_before=found.before,
        available_least=found.lowest,
        available_promised=found.promised,
        seconds=round(found.seconds, 3),
        waiting=tuple(found.waiting),
        steps=tuple(found.steps),
        placements=tuple(PlacementData(pod, node) for pod, node in sorted(found.new.items()) if node),
        diagnoses=causes,
        suggestions=cures,
        groups=groups,
    )


def _rollout_summary(found: Rollout, cause: str) -> str:
    name = f"{found.workload.namespace}/{found.workload.name}"
    if found.finished and not found.steps:
        kept = f"; {counted(found.left, 'pod')} below the partition" if found.left else ""
        return f"{name}: there is nothing to roll out{kept}"
    if found.finished:
        # If the workload is scaled at the same time, fewer pods may be new than were removed.
        replaced = counted(found.old - found.left, "pod")
        kept = f" ({found.left} below the partition stay)" if found.left else ""
        least = f"never fewer than {found.lowest} available" if found.lowest else "at times no pod is available"
        steps = counted(len(found.steps), "step")
        return f"{name}: the rollout finishes: {replaced} replaced in {steps}{kept}, {least}"
    if not found.steps:
        why = cause or found.held or _waiting(found)
        return f"{name}: the rollout does not start: {why}"
    placed = sum(bool(node) and key not in found.attaching for key, node in found.new.items())
    verb = "is" if placed == 1 or found.replicas == 1 else "are"
    why = cause or _waiting(found) or found.held or "there is no further progress"
    return (
        f"{name}: the rollout stalls at step {len(found.steps)}: {why}; "
        f"{placed} of {counted(found.replicas, 'pod')} {verb} new"
    )


def _waiting(found: Rollout) -> str:
    """Return the numbers of pending new and old pods, such as ``1 new pod is pending``; empty if there are none."""
    new = sum(len(group.new) for group in found.waiting)
    old = sum(len(group.old) for group in found.waiting)
    parts = [counted(number, f"{side} pod") for number, side in ((new, "new"), (old, "old")) if number]
    if not parts:
        return ""
    return f"{' and '.join(parts)} {'is' if new + old == 1 else 'are'} pending"
