"""The pods that a question is about, as a program names them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias, TypeVar

from kschedctl.common.errors import InputError
from kschedctl.questions.request import AnalysisRequest

if TYPE_CHECKING:
    from kschedctl.objects.pod import Pod
    from kschedctl.questions.provenance import PodSubject
    from kschedctl.trials.loaded_cluster import LoadedCluster

    #: A pod: an object, its manifest as data, ``namespace/name`` of a pod of the cluster, or the path of a manifest.
    AnyPod: TypeAlias = Pod | Mapping[str, Any] | str | Path
    #: The pods of a request: the pod of a program, or the pods that a command or the server has found.
    Pods: TypeAlias = AnyPod | tuple[PodSubject, ...]
else:
    AnyPod = Pods = Any

A = TypeVar("A", covariant=True)


@dataclass(frozen=True)
class PodsRequest(AnalysisRequest[A]):
    """A question about pods: the pod of a program, or several, those of one workload after each other."""

    pod: Annotated[
        Pods,
        "The pod: an object, its manifest as data, namespace/name of a pod of the cluster, or the path of a manifest.",
    ] = ()

    @property
    def pods(self) -> "tuple[PodSubject, ...]":
        """The pods; only of a request that has found them."""
        assert isinstance(self.pod, tuple)
        return self.pod

    def found(self, cluster: "LoadedCluster") -> Self:
        """Return the request with the pod of a program found in the cluster, or in its manifest.

        Raises InputError if there is no such pod, none is named, or the manifest is wrong.
        """
        from kschedctl.questions.provenance import PodSubject

        if self.pod == ():
            raise InputError("names no pod", path="pod")
        if isinstance(self.pod, tuple) and all(isinstance(one, PodSubject) for one in self.pod):
            return self
        given: Any = self.pod
        pod, where = cluster.written_pod(given)
        return replace(self, pod=(PodSubject(pod, where=where),))
