"""The question of ``consolidate``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from kschedctl.common.options import INSTANCE_TYPES, Example, Option
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.request import AnalysisRequest

if TYPE_CHECKING:
    from kschedctl.questions.consolidate.answer import Consolidated
    from kschedctl.trials.loaded_cluster import LoadedCluster


@dataclass(frozen=True)
class ConsolidateRequest(AnalysisRequest["Consolidated"]):
    """Show which nodes Karpenter would delete or replace by cheaper ones, and why it keeps the others.

    Raises
    ------
    InputError
        If the cluster has no NodePool or no such node, or the catalog of instance types cannot be read.
    ClusterError
        If this user cannot list NodePools.

    Examples
    --------
    >>> import kschedctl
    >>> cluster = kschedctl.load("fixtures/pools/cluster")
    >>> [(node.node.split(".")[0], node.decision) for node in cluster.consolidate().nodes]
    [('ip-10-0-1-11', 'keep'), ('ip-10-0-2-27', 'keep'), ('ip-10-0-1-42', 'keep')]

    Command
    -------
    By the rules of Karpenter 1.15, empty nodes go first, as many as the budgets of their NodePools let go. Each of the
    others is then looked at alone: its pods and their disruption budgets, the policy of its NodePool, and a round of
    the provisioner without it. Several nodes at once, drift, expiry and repair are not looked at.

    Prices are those of a file with --instance-types; without it, whether another node is cheaper is not known.

    The exit code is 0 if Karpenter would take away a node now, and 1 otherwise.
    """

    examples: ClassVar[tuple[Example, ...]] = (
        Example("Show what Karpenter would do with each of its nodes:", "consolidate --instance-types types.json"),
        Example("Show why it keeps a node:", "consolidate ip-10-0-1-11.eu-west-1.compute.internal"),
    )

    path: ClassVar[str] = "/consolidate"
    operation: ClassVar[str] = "consolidate_nodes"
    title: ClassVar[str] = "Consolidate"
    page: ClassVar[str] = "/consolidate"

    nodes: Annotated[
        Sequence[str],
        Option(
            "",
            "NODE",
            "Nodes by name, or by a pattern such as 'ip-10-*'. Default: all nodes of NodePools.",
            heading="Nodes",
            completion="nodes",
            parameter="node",
        ),
    ] = ()
    instance_types: Annotated[str, INSTANCE_TYPES] = ""

    def require_known(self, cluster: "LoadedCluster") -> None:
        from kschedctl.trials.whatif.targets import find_nodes

        for name in self.nodes:
            find_nodes(cluster.cluster, name)

    def answer(self, cluster: "LoadedCluster", handle: AnalysisHandle) -> "Consolidated":
        from kschedctl.questions.consolidate.analysis import consolidation

        return consolidation(cluster, self, handle)
