"""A pod of the snapshot fits and is pending nevertheless, because no kube-scheduler is running.

The Lease of kube-scheduler shows that: its holder renews it every two seconds. A pod that fits while a scheduler runs
has no such cause: kube-scheduler tries it within seconds, or after the next event.

Operators start kube-scheduler again.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.cluster.records import PENDING
from kschedctl.diagnosis.cluster_rules.idle_control_plane import SCHEDULER, idle_component
from kschedctl.diagnosis.diagnosis import Diagnosis
from kschedctl.diagnosis.situation import Situation


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the age of the scheduler's Lease, if it is no longer renewed and the pod is pending in the snapshot."""
    pod, pods = situation.pod, situation.cluster.pods
    index = pods.index.get((pod.metadata.namespace, pod.metadata.name))
    if index is None or pods.node_row[index] != PENDING:
        return
    found = idle_component(situation.cluster, SCHEDULER)
    if found is not None:
        yield found
