"""A pod that a question is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kschedctl.answers.explain import WorkloadData
from kschedctl.api.pod import Pod
from kschedctl.findings.finding import Where

#: Values of options by the option's name, which name one pod or workload alone.
Arguments = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class AskedPod:
    """A pod that a question is about.

    Attributes
    ----------
    arguments : mapping of str to object
        The options that name it alone, such as ``{"filename": ("web.yaml",)}``; empty if its name does.
    where : Subject, Location or str
        The place in a manifest that it was read from; empty for a pod of the cluster.
    workload : WorkloadData or None
        The workload that makes it, if that was given instead of the pod.
    node : str
        The only node that it is for, if a DaemonSet makes it.
    replicas : int
        The number of pods that differ from it in nothing but their name.
    """

    pod: Pod
    arguments: Arguments = field(default_factory=dict)
    where: Where = ""
    workload: WorkloadData | None = None
    node: str = ""
    replicas: int = 1

    @property
    def key(self) -> str:
        """Its name, as namespace/name."""
        return self.pod.key
