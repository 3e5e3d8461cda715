"""The question of ``preempt``."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from kschedctl.common.options import CHOICE_SEED, Example, Option
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.request import PodsRequest, RequestError

if TYPE_CHECKING:
    from kschedctl.questions.preempt.answer import Preemption
    from kschedctl.trials.loaded_cluster import LoadedCluster


@dataclass(frozen=True, kw_only=True)
class PreemptRequest(PodsRequest["Preemption"]):
    """Show which pods kube-scheduler would evict to schedule a pod, on which node, and why.

    Raises
    ------
    ManifestError
        If there is no such pod, or an API server would refuse it.

    Examples
    --------
    >>> import kschedctl
    >>> found = kschedctl.load("fixtures/shop/cluster").preempt("shop/search-3")
    >>> [(candidate.name, [victim.name for victim in candidate.victims]) for candidate in found.chosen]
    [('node-8', ['batch/report-6'])]

    Command
    -------
    Without POD and -f, the pending pods are used, each decided independently, highest priority first; with -l all pods
    with matching labels. They are those of the current namespace of a running cluster, or of all namespaces of a
    snapshot; -n and -A name others. -o name prints the victims.

    The exit code is 0 if the pod fits or preemption helps, with --victim if no pod would preempt that pod, and 1
    otherwise. Evictions do not help if the victims come back before the pod can start.
    """

    examples: ClassVar[tuple[Example, ...]] = (
        Example("Show the victims that a pod would evict, and all other candidates:", "preempt shop/search-3 -o wide"),
        Example("Show the pending pods that would evict a pod:", "preempt --victim batch/report-6"),
    )

    min_candidate_nodes: Annotated[
        int | None,
        Option(
            "--min-candidate-nodes",
            "N",
            "Stop after N candidates, as kube-scheduler does in large clusters. Default: try all nodes.",
            least=1,
        ),
    ] = None
    offset: Annotated[
        int, Option("--offset", "K", "Start the search at this node; kube-scheduler starts at a random one.", least=0)
    ] = 0
    seed: Annotated[int | None, CHOICE_SEED] = None

    def check(self) -> None:
        if self.offset and self.min_candidate_nodes is None:
            raise RequestError("requires {min_candidate_nodes}", "offset")

    def answer(self, cluster: "LoadedCluster", handle: AnalysisHandle) -> "Preemption":
        from kschedctl.questions.preempt.analysis import preempt

        (answer,) = preempt(cluster, self.found(cluster), handle)
        return answer
