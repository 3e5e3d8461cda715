"""The pod that a controller makes in place of one that is gone."""

from __future__ import annotations

from typing import Final

from kschedctl.api.meta import ObjectMeta
from kschedctl.api.pod import Pod, PodStatus

#: Owners whose pods belong to one node: a DaemonSet, and of the mirror pod of a static pod the node itself.
NODE_BOUND: Final = frozenset({"DaemonSet", "Node"})


def fresh_pod(pod: Pod, *, name: str = "") -> Pod:
    """The pod that a controller makes in place of one that is gone.

    Parameters
    ----------
    pod : Pod
        The one that is gone.
    name : str
        The new one's name; by default the old one's, by which people know it.
    """
    old = pod.metadata
    metadata = ObjectMeta(
        name=name or old.name, namespace=old.namespace, labels=old.labels, owner_references=old.owner_references
    )
    return Pod(metadata=metadata, spec=pod.spec, status=PodStatus(phase="Pending"))
