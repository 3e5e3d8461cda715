"""The question of ``drain``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from kschedctl.common.errors import InputError
from kschedctl.common.options import SEED, Example, Option
from kschedctl.questions.request import AnalysisRequest, RequestError

if TYPE_CHECKING:
    from kschedctl.cluster.cluster import Cluster
    from kschedctl.questions.drain.answer import Drained
    from kschedctl.questions.handle import AnalysisHandle
    from kschedctl.trials.loaded_cluster import LoadedCluster
    from kschedctl.trials.simulate.drain import DrainOptions

_NODES = "Nodes"
_EVICTION = "Eviction"


@dataclass(frozen=True)
class NamedNodes(AnalysisRequest["Drained"]):
    """The nodes of a request, its first argument."""

    nodes: Annotated[
        Sequence[str],
        Option(
            "",
            "NODE",
            "Nodes by name, or by a pattern such as 'node-*'.",
            heading=_NODES,
            completion="nodes",
            parameter="node",
        ),
    ] = ()


@dataclass(frozen=True, kw_only=True)
class DrainRequest(NamedNodes):
    """Simulate kubectl drain: show what blocks it, where each pod would be scheduled, and which pods stay pending.

    The nodes are cordoned and their pods evicted. If a disruption budget allows no further eviction, the drain waits
    until replacement pods run elsewhere. The flags have the same meaning as in kubectl drain. No cluster is changed.

    Raises
    ------
    InputError
        If the cluster has no such node.

    Examples
    --------
    >>> import kschedctl
    >>> cluster = kschedctl.load("fixtures/shop/cluster")
    >>> cluster.drain("node-1", ignore_daemonsets=True).summary.split(": ")[1]
    '4 pods move; 1 pod stays pending'

    Command
    -------
    The exit code is 0 if all nodes can be drained, all pods that move are scheduled and no pod is lost for lack of a
    controller, and 1 otherwise.
    """

    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Check whether a node can be drained, and where its pods are scheduled:", "drain node-7 --ignore-daemonsets"
        ),
        Example(
            "Check whether a rolling upgrade of a node pool finishes, with one surge node:",
            "drain -l pool=general --ignore-daemonsets --delete-emptydir-data --rolling --surge 1",
        ),
    )
    path: ClassVar[str] = "/drain"
    operation: ClassVar[str] = "simulate_drain"
    title: ClassVar[str] = "Drain"

    selector: Annotated[
        str,
        Option(
            "--selector", "SELECTOR", "All nodes with matching labels, such as pool=old.", short="-l", heading=_NODES
        ),
    ] = ""
    zone: Annotated[str, Option("--zone", "ZONE", "All nodes in this zone.", heading=_NODES, completion="zones")] = ""
    ignore_daemonsets: Annotated[
        bool,
        Option(
            "--ignore-daemonsets", "", "Ignore pods managed by a DaemonSet: they stay on the node.", heading=_EVICTION
        ),
    ] = False
    delete_emptydir_data: Annotated[
        bool, Option("--delete-emptydir-data", "", "Evict pods that use an emptyDir volume, too.", heading=_EVICTION)
    ] = False
    force: Annotated[
        bool, Option("--force", "", "Evict pods without a controller, too: they are lost for good.", heading=_EVICTION)
    ] = False
    disable_eviction: Annotated[
        bool,
        Option(
            "--disable-eviction",
            "",
            "Delete pods instead of evicting them, ignoring disruption budgets.",
            heading=_EVICTION,
        ),
    ] = False
    rolling: Annotated[
        bool,
        Option(
            "--rolling",
            "",
            "Drain one node after another, as an upgrade does: each node comes back before the next is drained.",
            heading=_EVICTION,
        ),
    ] = False
    surge: Annotated[
        int,
        Option(
            "--surge",
            "N",
            "Add N nodes first, copies of the first drained node.",
            heading=_EVICTION,
            least=0,
            most=1000,
        ),
    ] = 0
    place_pending_first: Annotated[
        bool,
        Option(
            "--place-pending-first",
            "",
            "Schedule the pending pods before the drain, with their preemptions. Default: they stay pending.",
            heading=_EVICTION,
        ),
    ] = False
    seed: Annotated[int | None, SEED] = None

    @property
    def flags(self) -> "DrainOptions":
        """The flags of kubectl drain."""
        from kschedctl.trials.simulate.drain import DrainOptions

        return DrainOptions(**{name: getattr(self, name) for name in DrainOptions.__dataclass_fields__})

    def names(self, cluster: "Cluster") -> list[str]:
        """Return the names of the nodes to drain, without duplicates, in the order in which they are given.

        Raises InputError if a name, a pattern, the selector or the zone matches no node, or none of them is given.
        """
        from kschedctl.objects.selectors import matches, parse_label_query
        from kschedctl.trials.whatif.targets import find_nodes, find_zone

        self.check()
        rows = [row for name in self.nodes for row in find_nodes(cluster, name)]
        if self.selector:
            selector = parse_label_query(self.selector)
            found = [i for i, node in enumerate(cluster.nodes.objects) if matches(selector, node.metadata.labels)]
            if not found:
                raise InputError(f'no node matches the selector "{self.selector}"', path="--selector")
            rows += found
        if self.zone:
            rows += find_zone(cluster, self.zone)
        return [cluster.nodes.names[row] for row in dict.fromkeys(rows)]

    def check(self) -> None:
        if not (self.nodes or self.selector or self.zone):
            raise RequestError("name nodes, or use {selector} or {zone}", "nodes")

    def require_known(self, cluster: "LoadedCluster") -> None:
        self.names(cluster.cluster)

    def answer(self, cluster: "LoadedCluster", handle: "AnalysisHandle") -> "Drained":
        from kschedctl.questions.drain.analysis import drain

        return drain(cluster, self, handle)
