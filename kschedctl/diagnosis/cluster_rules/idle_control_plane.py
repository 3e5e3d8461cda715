"""The Lease of kube-scheduler or kube-controller-manager is no longer renewed: no replica of the component is running.

A pod without a decision then stays pending without events, and a workload gets no pods at all. A Lease is renewed
every two seconds and lasts 15 seconds. The time of the snapshot is that of its files, which may be copies; other Leases
that were renewed later, and pods that were created later, show the time better.

Operators look at the component's pods on the control plane: its manifest, its certificates, the API server's load.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from kschedctl.answers.preempt_words import duration
from kschedctl.api.coordination import Lease
from kschedctl.api.wording import counted
from kschedctl.cluster.snapshot_time import newest_time, taken_at
from kschedctl.diagnosis.cluster_diagnosis import ClusterDiagnosis, ClusterSituation
from kschedctl.diagnosis.diagnosis import Advice
from kschedctl.diagnosis.node_health import since
from kschedctl.framework.remedy import Risk

_NAMESPACE: Final = "kube-system"
#: The components, each with what does not happen without it.
COMPONENTS: Final = {
    "kube-scheduler": "no scheduler is running",
    "kube-controller-manager": "no controller creates pods or marks lost nodes",
}
#: A Lease that is older than its duration and this time has no holder that lives.
_GRACE: Final = timedelta(minutes=1)


def check(situation: ClusterSituation) -> Iterator[ClusterDiagnosis]:
    """Yield the components whose Lease is too old."""
    for name, effect in COMPONENTS.items():
        lease = situation.cluster.get(Lease, name, _NAMESPACE)
        renewed = lease.spec.renew_time if lease is not None else None
        if lease is None or renewed is None:
            continue
        seen = _seen(situation, lease)
        if seen is None or seen - renewed <= _GRACE + timedelta(seconds=lease.spec.lease_duration_seconds):
            continue
        taken = taken_at(situation.cluster)
        until, what = (taken, "the snapshot") if taken is not None and taken > seen else (seen, "the newest object")
        age = duration(int((until - renewed).total_seconds()))
        n_pending = situation.n_pending if name == "kube-scheduler" else 0
        yield ClusterDiagnosis(
            rule="idle-control-plane",
            cause=f"{name}'s Lease was last renewed {age} before {what}: {effect}",
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


def _seen(situation: ClusterSituation, lease: Lease) -> datetime | None:
    """Return a time at which the cluster is known to have existed without relying on the time of files, if possible."""
    cluster = situation.cluster
    times = [each.spec.renew_time for each in cluster.list(Lease) if each.name not in COMPONENTS]
    newest = newest_time(cluster)
    known = [time for time in (*times, newest) if time is not None]
    if any(time is not None for time in times):
        return max(known)
    taken = taken_at(cluster)
    return max((*known, taken) if taken is not None else known, default=None)
