"""A pod that a question is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kschedctl.answers.explain import WorkloadData
from kschedctl.api.pod import Pod
from kschedctl.findings.finding import Where

#: Option values by option name; together they name exactly one pod or workload.
Arguments = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class PodSubject:
    """A pod that a question is about.

    Attributes
    ----------
    arguments : mapping of str to object
        The options that name only this pod, such as ``{"filename": ("web.yaml",)}``; empty if its name does.
    where : Subject, Location or str
        The place in a manifest that the pod was read from; empty for a pod of the cluster.
    workload : WorkloadData or None
        The workload that creates the pod, if the request names the workload instead of the pod.
    node : str
        The only node that the pod is for, if a DaemonSet creates it.
    replicas : int
        The number of pods that differ only in their name, this one included.
    """

    pod: Pod
    arguments: Arguments = field(default_factory=dict)
    where: Where = ""
    workload: WorkloadData | None = None
    node: str = ""
    replicas: int = 1

    @property
    def key(self) -> str:
        """The pod's name, as namespace/name."""
        return self.pod.key
