"""The Lease of kube-scheduler or kube-controller-manager is no longer renewed: no replica of the component is running.

A pod without a decision then stays pending without events, and a workload gets no pods at all. A Lease is renewed
every two seconds and lasts 15 seconds. Its age is that at the time of the snapshot, or at the newest renewal of another
Lease that was still renewed: a snapshot of a large cluster takes minutes, and its Leases were all listed at once.

Operators look at the component's pods on the control plane: its manifest, its certificates, the API server's load.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import PENDING
from kschedctl.common.wording import counted
from kschedctl.diagnosis.cluster_diagnosis import ClusterDiagnosis, ClusterSituation
from kschedctl.diagnosis.diagnosis import Advice
from kschedctl.diagnosis.node_health import since
from kschedctl.objects.coordination import Lease
from kschedctl.questions.answers.preempt_words import duration
from kschedctl.scheduler.framework.remedy import Risk

_NAMESPACE: Final = "kube-system"
SCHEDULER: Final = "kube-scheduler"
#: The components, each with what does not happen without it.
COMPONENTS: Final = {
    SCHEDULER: "no scheduler is running",
    "kube-controller-manager": "no controller creates pods or marks lost nodes",
}
#: A Lease that is older than its duration and this time has no holder that lives.
_GRACE: Final = timedelta(minutes=1)


def check(situation: ClusterSituation) -> Iterator[ClusterDiagnosis]:
    """Yield the components whose Lease is too old."""
    for name in COMPONENTS:
        found = idle_component(situation.cluster, name)
        if found is not None:
            yield found


def idle_component(cluster: Cluster, name: str) -> ClusterDiagnosis | None:
    """Return the problem of a component whose Lease is too old; ``None`` if it is not, or if that is unknown."""
    lease = cluster.get(Lease, name, _NAMESPACE)
    renewed = lease.spec.renew_time if lease is not None else None
    if lease is None or renewed is None:
        return None
    others = (each.spec.renew_time for each in cluster.list(Lease) if each.name not in COMPONENTS)
    listed = max((time for time in others if time is not None and time > renewed - _GRACE), default=cluster.taken_at)
    if listed is None or listed - renewed <= _GRACE + timedelta(seconds=lease.spec.lease_duration_seconds):
        return None
    age = duration(int((listed - renewed).total_seconds()))
    n_pending = int((cluster.pods.node_row == PENDING).sum()) if name == SCHEDULER else 0
    return ClusterDiagnosis(
        rule="idle-control-plane",
        cause=f"{name}'s Lease was last renewed {age} before the snapshot: {COMPONENTS[name]}",
        evidence=(
            f"the last holder was {lease.spec.holder_identity}{since(renewed)}",
            *((f"{counted(n_pending, 'pod')} without a node cannot be scheduled",) if n_pending else ()),
        ),
        advice=(
            Advice(
                summary=f"start {name} again",
                risk=Risk.MISTAKE,
                untried="it runs on the control plane",
                command=f"kubectl get pods -n {_NAMESPACE} -l component={name}",
            ),
        ),
        checks=(f"kubectl logs -n {_NAMESPACE} -l component={name} --previous",),
        kind="Lease",
        namespace=_NAMESPACE,
        name=name,
        state="has no living holder",
        since=renewed,
    )
