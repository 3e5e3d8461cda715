"""The question of ``explain``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

from kschedctl.common.options import CHOICE_SEED, Example, Option
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.request import PodsRequest

if TYPE_CHECKING:
    from kschedctl.questions.explain.answer import Explanation
    from kschedctl.trials.loaded_cluster import LoadedCluster

#: The largest number of pods that get suggestions, and pages of their own, without being asked for.
FEW: Final = 8


@dataclass(frozen=True, kw_only=True)
class ExplainRequest(PodsRequest["Explanation"]):
    """Explain where kube-scheduler would schedule a pod, or why it cannot, node by node.

    Raises
    ------
    ManifestError
        If there is no such pod, or an API server would refuse it.

    Examples
    --------
    >>> import kschedctl
    >>> answer = kschedctl.load("fixtures/shop/cluster").explain("shop/search-3", suggest=2)
    >>> for suggestion in answer.suggestions:
    ...     print(suggestion.summary)
    wait: preemption evicts batch/report-6 from node-8
    uncordon node node-9

    Command
    -------
    Without POD and -f, the pending pods are explained; with -l all pods with matching labels. They are those of the
    current namespace of a running cluster, or of all namespaces of a snapshot; -n and -A name others.

    With -o name, each node that the pod can be scheduled to is printed on a line: node/NODE, and for several pods
    pod/NAMESPACE/NAME node/NODE.

    docs/scheduling.md explains how a pod gets its node, and what the messages mean.
    """

    examples: ClassVar[tuple[Example, ...]] = (
        Example("Explain why a pod is pending:", "explain shop/web-7 --snapshot prod.tar.gz"),
        Example(
            "Check whether a manifest fits with more memory, with the details of one node:",
            "explain -f web.yaml --set-request memory=2Gi --node node-1 --why",
        ),
    )

    node: Annotated[Sequence[str], Option("--node", "NAME", "Show this node only.", completion="nodes")] = ()
    why: Annotated[
        bool,
        Option(
            "--why",
            "",
            "Show raw and normalised scores and the allocations of ResourceClaims, and with --node the full details of "
            "the node.",
        ),
    ] = False
    prefer: Annotated[
        str,
        Option(
            "--prefer",
            "NODE",
            "Show changes that would move the pod to this node, each of them tried.",
            completion="nodes",
        ),
    ] = ""
    withstand: Annotated[
        bool,
        Option("--withstand", "", "Show how many further nodes, and which zone, can fail before the pod fits nowhere."),
    ] = False
    sampling: Annotated[
        bool,
        Option(
            "--sampling",
            "",
            "End the search at as many feasible nodes as kube-scheduler does (percentageOfNodesToScore), from every "
            "possible start. Default: all nodes are scored.",
        ),
    ] = False
    suggest: Annotated[
        int | None,
        Option(
            "--suggest",
            "N",
            "Search for up to N changes with which a pod would fit. Default: 5, or 0 for more than 8 pods and for "
            "DaemonSets.",
            least=0,
            most=100,
        ),
    ] = None
    apply_suggestion: Annotated[
        int | None, Option("--apply-suggestion", "K", "Answer as if the K-th suggestion were applied.", least=1)
    ] = None
    seed: Annotated[int | None, CHOICE_SEED] = None

    @property
    def can_be_summed_up(self) -> bool:
        """True if there are more than 8 pods and the request needs nothing that a summary leaves out."""
        return len(self.pods) > FEW and not (self.node or self.prefer or self.withstand or self.sampling)

    @property
    def is_daemon_set(self) -> bool:
        """True if all pods are those of one DaemonSet."""
        return bool(self.pods) and all(one.node and one.workload == self.pods[0].workload for one in self.pods)

    def answer(self, cluster: "LoadedCluster", handle: AnalysisHandle) -> "Explanation":
        from kschedctl.questions.explain.analysis import explain

        return next(explain(cluster, self.found(cluster), handle))
