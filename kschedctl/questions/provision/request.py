"""The question of ``provision``."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from kschedctl.common.options import INSTANCE_TYPES, Example, Option
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.request import AnalysisRequest

if TYPE_CHECKING:
    from kschedctl.questions.provision.answer import Provisioning
    from kschedctl.trials.loaded_cluster import LoadedCluster


@dataclass(frozen=True, kw_only=True)
class ProvisionRequest(AnalysisRequest["Provisioning"]):
    """Show the nodes that Karpenter would launch for pending pods, and where kube-scheduler then puts the pods.

    Raises
    ------
    InputError
        If the cluster has no NodePool, or the catalog of instance types cannot be read.

    Examples
    --------
    >>> import kschedctl
    >>> answer = kschedctl.load("fixtures/pools/cluster").provision()
    >>> [(node.pool, len(node.planned)) for node in answer.nodes]
    [('general', 2)]

    Command
    -------
    First kube-scheduler places the pods that fit on existing nodes. For the others, a round of Karpenter's provisioner
    is run: its queue, existing and starting nodes, new NodeClaims by NodePool, its concessions and limits. Then the
    nodes are added, each of its cheapest instance type, and kube-scheduler places the pods, which may differ from the
    plan. With --until-settled, rounds are repeated until one launches nothing, since a round can fall short.

    Instance types are those of a file, or those that the nodes and NodeClaims of the cluster show;
    docs/node-is-not-added.md describes the file.

    The exit code is 0 if every pending pod gets a node, and 1 otherwise.
    """

    examples: ClassVar[tuple[Example, ...]] = (
        Example("Show the nodes that would be launched for the pending pods:", "provision --snapshot prod.tar.gz"),
        Example(
            "Scale a Deployment up, with the instance types of a cloud:",
            "provision --set-replicas deployment/web=40 --instance-types types.json",
        ),
    )

    path: ClassVar[str] = "/provision"
    operation: ClassVar[str] = "provision_nodes"
    title: ClassVar[str] = "Provision"
    page: ClassVar[str] = "/provision"

    instance_types: Annotated[str, INSTANCE_TYPES] = ""
    until_settled: Annotated[
        bool, Option("--until-settled", "", "Repeat rounds until one launches no node, at most 20 of them.")
    ] = False

    def answer(self, cluster: "LoadedCluster", handle: AnalysisHandle) -> "Provisioning":
        from kschedctl.questions.provision.analysis import provisioning

        return provisioning(cluster, self, handle)
