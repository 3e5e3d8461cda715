"""A pod does not start, as its ReadWriteOnce volume is attached to another node: "Multi-Attach error for volume".

The attach-detach controller detaches a volume when no pod of the node uses it. A pod on a node that is unreachable
stays until the kubelet confirms its end, and so does the attachment; a running pod keeps it as well.

Operators get the node back. If its machine is shut down, they give it the taint ``node.kubernetes.io/out-of-service``:
the pods are then deleted by force, and their volumes detached. They do not delete such a pod by force while its machine
may still run, as two nodes would then write to one disk.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.diagnosis.attached_volumes import attached_elsewhere
from kschedctl.diagnosis.diagnosis import Diagnosis
from kschedctl.diagnosis.situation import Situation


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the volumes of a pod that has not started which are attached to another node."""
    if situation.node and situation.pod.status.phase == "Pending":
        yield from attached_elsewhere(situation.cluster, situation.pod, situation.node)
