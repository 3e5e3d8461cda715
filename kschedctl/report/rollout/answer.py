"""What becomes of a rollout, as data."""

from __future__ import annotations

from kschedctl.api.wording import counted
from kschedctl.cluster.cluster import Cluster
from kschedctl.report.envelope import Provenance, envelope
from kschedctl.report.explain.data import WorkloadData
from kschedctl.report.rollout.data import RolledOut, RolloutStepData, RolloutWaitingData
from kschedctl.report.simulate.data import PlacementData
from kschedctl.simulate.rolling import Rollout


def rollout_answer(before: Cluster, found: Rollout, provenance: Provenance) -> RolledOut:
    """The answer.

    Parameters
    ----------
    before : Cluster
        The cluster at first.
    found : Rollout
        What became of it.
    provenance : Provenance
        What the answer rests on.
    """
    workload = found.workload
    began = found.steps[0].time if found.steps else None
    return RolledOut(
        **envelope(before, provenance, found.not_modelled),
        summary=_summary(found),
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
        waiting=tuple(RolloutWaitingData(group.message, group.new, group.old) for group in found.waiting),
        steps=tuple(
            RolloutStepData(
                number,
                step.time,
                (step.time - (began or step.time)).total_seconds(),
                step.side,
                step.before,
                step.after,
                step.pods,
                step.available,
            )
            for number, step in enumerate(found.steps, 1)
        ),
        placements=tuple(PlacementData(pod, node) for pod, node in sorted(found.new.items()) if node),
    )


def _summary(found: Rollout) -> str:
    name = f"{found.workload.namespace}/{found.workload.name}"
    if found.finished:
        return f"{name}: {_finished(found)}"
    if not found.steps:
        why = found.held or _waiting(found)
        return f"{name}: the rollout does not begin: {why}"
    placed = sum(map(bool, found.new.values()))
    verb = "is" if placed == 1 else "are"
    why = _waiting(found) or found.held or "nothing more happens"
    return (
        f"{name}: the rollout stands still at step {len(found.steps)}: {why}; "
        f"{placed} of {counted(found.replicas, 'pod')} {verb} new"
    )


def _finished(found: Rollout) -> str:
    if not found.steps:
        kept = f"; {counted(found.left, 'pod')} below the partition" if found.left else ""
        return f"there is nothing to roll out{kept}"
    # Of what is scaled at the same time fewer may be new than went.
    replaced = counted(found.old - found.left, "pod")
    kept = f" ({found.left} below the partition stay)" if found.left else ""
    least = f"never fewer than {found.lowest} available" if found.lowest else "at times none is available"
    return f"the rollout finishes: {replaced} replaced in {counted(len(found.steps), 'step')}{kept}, {least}"


def _waiting(found: Rollout) -> str:
    """``1 new pod waits``, and the old ones that do."""
    new = sum(len(group.new) for group in found.waiting)
    old = sum(len(group.old) for group in found.waiting)
    parts = [counted(number, f"{side} pod") for number, side in ((new, "new"), (old, "old")) if number]
    if not parts:
        return ""
    return f"{' and '.join(parts)} {'waits' if new + old == 1 else 'wait'}"
