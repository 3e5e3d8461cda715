"""The question of ``verify``."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from kschedctl.common.options import Example, Option
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.request import AnalysisRequest

if TYPE_CHECKING:
    from kschedctl.questions.scheduling_cluster import SchedulingCluster
    from kschedctl.questions.verify.answer import Verification
    from kschedctl.trials.loaded_cluster import LoadedCluster


@dataclass(frozen=True, kw_only=True)
class VerifyRequest(AnalysisRequest["Verification"]):
    """Compare all answers with the decisions of kube-scheduler, and explain possible differences.

    Raises
    ------
    InputError
        If pods are edited: the real scheduler has no answers for edited pods.
    ClusterError
        If the pods could not be listed.

    Examples
    --------
    >>> import kschedctl
    >>> found = kschedctl.load("fixtures/shop/cluster").verify()
    >>> found.equal, found.bound.feasible, found.bound.cordoned
    (True, 72, 1)

    Command
    -------
    For every pending pod, the computed message is compared with the one in its PodScheduled condition; for every
    running pod, the filters check whether it would still fit on its node. -o name prints the pods that differ. A
    message that is older than pods that now run is aged, and no difference.

    kube-scheduler does not evict running pods because of later changes, so a rejection that a later change can explain
    is no difference: a cordoned node never is; taints, labels, affinity, spreading, resources, volumes and claims are
    listed with the likely cause. A difference is what no change explains: another message, two pods with the same host
    port or exclusive disk, a pod whose affinity names another node, a rejection by an out-of-tree plugin. Running pods
    that fit without the what-ifs are no difference either.

    With --sampling, up to 100 pods that were scheduled last are decided for again, in the cluster without the pods that
    were bound later. A node that is a best one of a sample is listed with the number of starts that lead to it. A node
    that no start leads to is listed, too, and is no difference: pods that ended since are not in the snapshot.

    The test case of --record is one line of JSON in the input format of batch: {"id", "objects", "pod", "config"}, with
    kube-scheduler's message as "theirs". Names are pseudonyms; read the file before you submit it.

    The exit code is 0 if nothing differs, and 1 if something does.
    """

    examples: ClassVar[tuple[Example, ...]] = (
        Example("Compare all answers with the decisions of the cluster's scheduler:", "verify"),
        Example("List the pods of a snapshot that differ:", "verify --snapshot prod.tar.gz -o name"),
    )

    before: Annotated[
        "SchedulingCluster | LoadedCluster | None",
        "The cluster as it was read, if edits have changed this one: differences that only edits cause do not count.",
    ] = None
    namespace: Annotated[
        str,
        Option(
            "--namespace",
            "NAMESPACE",
            "Compare pods of this namespace only. Default: all.",
            short="-n",
            completion="namespaces",
        ),
    ] = ""
    sampling: Annotated[
        bool,
        Option(
            "--sampling",
            "",
            "Also compare the nodes of the pods that were scheduled last with the choices of every start of "
            "kube-scheduler's search (percentageOfNodesToScore).",
        ),
    ] = False

    @property
    def stored(self) -> "LoadedCluster | None":
        """The engine of the cluster as it was read."""
        from kschedctl.questions.scheduling_cluster import SchedulingCluster

        return self.before.engine if isinstance(self.before, SchedulingCluster) else self.before

    def answer(self, cluster: "LoadedCluster", handle: AnalysisHandle) -> "Verification":
        from kschedctl.questions.verify.analysis import verify

        return verify(cluster, self, handle)
