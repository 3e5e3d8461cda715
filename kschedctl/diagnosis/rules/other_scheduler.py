"""No profile has the pod's ``schedulerName``: kube-scheduler ignores the pod, and another scheduler must place it.

The API server accepts any name. If no scheduler of that name runs, the pod stays pending without a single event, which
is why people find nothing in ``kubectl describe``. A scheduler shows in the cluster by its pod, by its Lease, or by the
pods that it has placed. A profile of kube-scheduler itself shows by the pods that it has placed only.

Operators install or start the scheduler, or remove the name from the pod template; a mistyped name is corrected.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import counted, listed
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis
from kschedctl.diagnosis.node_health import condition_of_pod, since
from kschedctl.diagnosis.situation import Situation
from kschedctl.objects.coordination import NODE_LEASES, Lease
from kschedctl.scheduler.cycle.scheduler import meant_profile
from kschedctl.scheduler.framework.remedy import Remedy, Risk, add_operation

_RULE: Final = "other-scheduler"
_WORD: Final = "scheduler"
_PROFILE_HINT: Final = "if {} is a profile of kube-scheduler, give its configuration: --config"
#: A Lease that was not renewed for this number of its durations before the snapshot has no living holder.
_DURATIONS: Final = 4


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the scheduler that is responsible, and whether it runs."""
    name = situation.pod.spec.scheduler_name
    own = situation.decision.framework.profile.scheduler_name
    close = meant_profile(name, situation.decision.framework.handle.scheduler_names)
    running = list(_running(situation.cluster, name)) if not close else []
    placed = _placed(situation.cluster, name)
    if running or placed:
        yield _runs(situation, running, placed)
        return
    why = f"; did you mean {close}?" if close else " (no pod or Lease of that name)"
    advice = [
        Advice(
            summary=f"install or start the scheduler {name}",
            risk=Risk.SHARED,
            untried=f"{name} makes its own decisions",
            command=f"# install the scheduler {name}, or start it again",
        )
    ]
    yield Diagnosis(
        rule=_RULE,
        cause=f"its schedulerName is {name}, and no such scheduler runs here{why}",
        evidence=(
            *_with_default(situation, own),
            *([] if close else [_PROFILE_HINT.format(name)]),
        ),
        remedies=(_named(situation, own, mistyped=bool(close)),),
        advice=tuple(advice if not close else ()),
        checks=(f"kubectl get pods,leases -A | grep {name}",),
    )


def _named(situation: Situation, own: str, *, mistyped: bool) -> Remedy:
    name = situation.pod.spec.scheduler_name
    if mistyped:
        summary = f"correct schedulerName: {own} instead of {name}"
    else:
        summary = f"remove schedulerName {name}, so that {own} schedules the pod"
    return situation.context().pod_patch(
        summary,
        add_operation(own, "spec", "schedulerName"),
        risk=Risk.MISTAKE if mistyped else Risk.POD,
        family="schedulerName",
    )


def _with_default(situation: Situation, own: str) -> Iterator[str]:
    """Yield the number of nodes that the pod would fit on with a profile of kube-scheduler."""
    statuses = situation.decision.statuses
    if statuses is not None:
        n_nodes = counted(situation.n_nodes, "node")
        yield f"with {own}, it would fit on {len(statuses.feasible) or 'none'} of {n_nodes}"


def _runs(situation: Situation, running: list[tuple[str, str]], placed: list[str]) -> Diagnosis:
    """Return the diagnosis for a scheduler that runs, or has run."""
    name = situation.pod.spec.scheduler_name
    ill = [f"{what} {problem}" for what, problem in running if problem]
    seen = listed([what for what, _ in running], most=2) or f"it placed {listed(placed, most=2)}"
    advice: tuple[Advice, ...] = ()
    if ill and len(ill) == len(running):
        cause = f"its schedulerName is {name}, and that scheduler is not working: {listed(ill, most=2)}"
        advice = (
            Advice(
                summary=f"repair or start the scheduler {name}",
                risk=Risk.MISTAKE,
                untried=f"{name} makes its own decisions",
                command=f"# repair the scheduler {name}: {listed([what for what, _ in running], most=2)}",
            ),
        )
    else:
        cause = f"its schedulerName is {name}, a scheduler that runs here ({seen}); only its log says why it did not"
    return Diagnosis(
        rule=_RULE,
        cause=cause,
        evidence=(_PROFILE_HINT.format(name),),
        advice=advice,
        checks=tuple(
            f"kubectl logs -n {what.partition('/')[0].removeprefix('Pod ')} {what.partition('/')[2]}"
            for what, _ in running
            if what.startswith("Pod ")
        )[:1],
    )


def _running(cluster: Cluster, name: str) -> Iterator[tuple[str, str]]:
    """Yield the pods and Leases of a scheduler, each with its problem; the problem is empty for a healthy one."""
    stem = name.removesuffix(f"-{_WORD}")
    for index, record in enumerate(cluster.pods.records):
        pod_name = record.metadata.name
        if not pod_name.startswith(stem) or record.spec.scheduler_name == name:
            continue
        if (pod_name.startswith(f"{name}-") and _WORD in name) or _WORD in pod_name.removeprefix(stem):
            yield f"Pod {cluster.pods.key(index)}", _pod_problem(cluster, index)
    taken = cluster.taken_at
    for lease in cluster.list(Lease):
        if lease.namespace != NODE_LEASES and lease.name in (name, stem, f"{stem}-{_WORD}"):
            renewed = lease.spec.renew_time
            lasts = _DURATIONS * max(lease.spec.lease_duration_seconds, 15)
            old = renewed is not None and taken is not None and (taken - renewed).total_seconds() > lasts
            problem = f"was last renewed{since(renewed).removeprefix(' since')}" if old else ""
            yield f"Lease {lease.namespace}/{lease.name}", problem


def _pod_problem(cluster: Cluster, index: int) -> str:
    pods = cluster.pods
    if pods.node_row[index] < 0:
        return "has no node"
    ready = condition_of_pod(pods.records[index], "Ready")
    if ready is not None and ready.status == "False":
        return f"is not ready{since(ready.last_transition_time)}"
    return ""


def _placed(cluster: Cluster, name: str) -> list[str]:
    """Return the pods with a node that have a ``schedulerName``."""
    pods = cluster.pods
    specs = {id(record.spec) for record in pods.records if record.spec.scheduler_name == name}
    rows = np.flatnonzero(pods.node_row >= 0).tolist() if specs else []
    return [pods.key(index) for index in rows if id(pods.records[index].spec) in specs]
