"""The question of ``pending``."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from kschedctl.common.options import Example, Option
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.request import AnalysisRequest

if TYPE_CHECKING:
    from kschedctl.questions.pending.answer import Pending
    from kschedctl.trials.loaded_cluster import LoadedCluster


@dataclass(frozen=True, kw_only=True)
class PendingPods(AnalysisRequest["Pending"]):
    """The selection of pending pods."""

    namespace: Annotated[
        str,
        Option(
            "--namespace",
            "NAMESPACE",
            "Show pods of this namespace only. Default: all namespaces.",
            short="-n",
            completion="namespaces",
        ),
    ] = ""
    selector: Annotated[str, Option("--selector", "SELECTOR", "Show pods with matching labels only.", short="-l")] = ""

    def require_known(self, cluster: "LoadedCluster") -> None:
        from kschedctl.objects.selectors import parse_label_query
        from kschedctl.trials.whatif.targets import require_namespace

        if self.selector:
            parse_label_query(self.selector)
        require_namespace(cluster.cluster, self.namespace)


@dataclass(frozen=True, kw_only=True)
class PendingRequest(PendingPods):
    """List pending pods by cause and age, and the fewest changes that would schedule most of them.

    Examples
    --------
    >>> import kschedctl
    >>> answer = kschedctl.load("fixtures/shop/cluster").pending()
    >>> [(group.name, len(group.pods)) for group in answer.groups], answer.fit
    ([('search', 1), ('report-7', 1), ('web', 1), ('train', 1)], ('ml/train-1', 'shop/web-7'))

    Command
    -------
    Each change is made and tried in a simulation of the whole scheduling queue, in which the pending pods compete for
    free capacity and no pod is evicted. With -o wide, all groups are shown, and the commands that make the changes.
    docs/scheduling.md explains why pods stay pending.

    Workloads that have fewer pods than they want, and pods that do not start, are listed too. The pods of a gang are
    one group, and changes are tried for the whole gang.

    The exit code is 0 if there are none, and every pending pod could be scheduled without a change; otherwise it is 1.
    """

    examples: ClassVar[tuple[Example, ...]] = (
        Example("List pending pods by cause and age, with changes that would help:", "pending --snapshot prod.tar.gz"),
        Example(
            "Show changes, with commands, that would schedule the pods of one namespace:", "pending -n shop -o wide"
        ),
    )
    path: ClassVar[str] = "/pending"
    operation: ClassVar[str] = "find_changes"
    title: ClassVar[str] = "Changes for pending pods"
    page: ClassVar[str] = "/changes"

    changes: Annotated[
        int,
        Option("--changes", "N", "Search for up to N changes with which pods would be scheduled.", least=0, most=20),
    ] = 3

    def answer(self, cluster: "LoadedCluster", handle: AnalysisHandle) -> "Pending":
        from kschedctl.questions.pending.analysis import pending

        return pending(cluster, self, handle)
