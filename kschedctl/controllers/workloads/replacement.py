"""The pod that a controller creates in place of a deleted one, or beside an existing one."""

from __future__ import annotations

from typing import Final

from kschedctl.objects.meta import ObjectMeta
from kschedctl.objects.pod import Pod, PodStatus

#: The owner kinds whose pods belong to one node: DaemonSet, and Node for the mirror pod of a static pod.
NODE_BOUND: Final = frozenset({"DaemonSet", "Node"})


def fresh_pod(pod: Pod, *, name: str = "") -> Pod:
    """Return a copy of a pod that has just been created.

    Parameters
    ----------
    pod : Pod
        The pod to copy.
    name : str
        The name of the new pod; by default that of the copied pod, so that users recognize it.
    """
    old = pod.metadata
    metadata = ObjectMeta(
        name=name or old.name, namespace=old.namespace, labels=old.labels, owner_references=old.owner_references
    )
    return Pod(metadata=metadata, spec=pod.spec, status=PodStatus(phase="Pending"))
