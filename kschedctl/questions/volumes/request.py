"""The question of ``volumes``."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from kschedctl.common.options import Example
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.request import AnalysisRequest, AnyPod, RequestError

if TYPE_CHECKING:
    from kschedctl.questions.provenance import PodSubject
    from kschedctl.questions.volumes.analysis import ClaimSubject
    from kschedctl.questions.volumes.answer import ClaimVolumes, PodVolumes
    from kschedctl.trials.loaded_cluster import LoadedCluster
else:
    ClaimSubject = PodSubject = Any


@dataclass(frozen=True)
class VolumesOfPod(AnalysisRequest["PodVolumes | ClaimVolumes"]):
    """The pod of a question of a program."""

    pod: Annotated[AnyPod | None, "A pod, whose claims are considered together."] = None


@dataclass(frozen=True, kw_only=True)
class VolumesRequest(VolumesOfPod):
    """Show the volume that a claim has or would get, why no other, and the nodes from which it can be used.

    Raises
    ------
    ManifestError
        If there is no such pod, or an API server would refuse it.
    InputError
        If there is no such claim.
    SnapshotError
        If a claim or volume is invalid.

    Examples
    --------
    >>> import kschedctl
    >>> cluster = kschedctl.load("fixtures/volumes/conflict")
    >>> answer = cluster.volumes("shop/reports-6f7d8c9b5d-x2k4q")
    >>> answer.claims[0].name, answer.zones, answer.conflict
    ('shop/figures', ('eu-central-1b',), True)
    >>> cluster.volumes(claim="shop/figures").claim.zones
    ('eu-central-1b',)

    Command
    -------
    For a pod, all claims are considered together: the nodes that remain for the pod are shown. Without an argument, all
    claims are listed; with -l those with matching labels. They are those of the current namespace of a running cluster,
    or of all namespaces of a snapshot; -n and -A name others.

    The exit code is 1 if a claim cannot have a volume, or if the claims of a pod leave no node for it.
    """

    examples: ClassVar[tuple[Example, ...]] = (
        Example("Explain why a claim has no volume:", "volumes shop/figures"),
        Example("List all claims of all namespaces as JSON:", "volumes -A -o json"),
    )

    claim: Annotated[str, "A claim as namespace/name, instead of a pod."] = ""
    #: The claims and pods, each with an answer of its own.
    subjects: tuple[ClaimSubject | PodSubject, ...] = ()
    #: True to add the outcome for each claim on every node; the answers for pods always have it.
    by_node: bool = True

    def check(self) -> None:
        if self.pod is not None and self.claim:
            raise RequestError("cannot be combined with {pod}", "claim")
        if self.pod is None and not self.claim and not self.subjects:
            raise RequestError("name a pod or a claim", "pod")

    def answer(self, cluster: "LoadedCluster", handle: AnalysisHandle) -> "PodVolumes | ClaimVolumes":
        from kschedctl.objects.volume import PersistentVolumeClaim
        from kschedctl.questions.provenance import PodSubject
        from kschedctl.questions.volumes.analysis import ClaimSubject, volumes
        from kschedctl.trials.whatif.targets import find_object

        if self.pod is not None:
            pod, where = cluster.written_pod(self.pod)
            subject: ClaimSubject | PodSubject = PodSubject(pod, where=where)
        else:
            subject = ClaimSubject(find_object(cluster.cluster, PersistentVolumeClaim, self.claim))
        (answer,) = volumes(cluster, replace(self, subjects=(subject,)), handle)
        return answer
