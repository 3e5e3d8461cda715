"""The pod that a controller creates in place of a deleted one."""

from __future__ import annotations

from typing import Final

from kschedctl.api.meta import ObjectMeta
from kschedctl.api.pod import Pod, PodStatus

#: The owner kinds whose pods belong to one node: DaemonSet, and Node for the mirror pod of a static pod.
NODE_BOUND: Final = frozenset({"DaemonSet", "Node"})


def fresh_pod(pod: Pod, *, name: str = "") -> Pod:
    """Return the pod that a controller creates in place of a deleted one.

    Parameters
    ----------
    pod : Pod
        The deleted pod.
    name : str
        The name of the new pod; by default that of the deleted pod, so that users recognize it.
    """
    old = pod.metadata
    metadata = ObjectMeta(
        name=name or old.name, namespace=old.namespace, labels=old.labels, owner_references=old.owner_references
    )
    return Pod(metadata=metadata, spec=pod.spec, status=PodStatus(phase="Pending"))
