"""The question of ``optimum``."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, ClassVar

from kschedctl.common.options import Example, Option
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.request import AnalysisRequest, RequestError
from kschedctl.trials.optimum.final_goal import FinalGoal

if TYPE_CHECKING:
    from kschedctl.questions.optimum.answer import Emptied, Optimum, Purchased
    from kschedctl.trials.loaded_cluster import LoadedCluster

_HOW = "Goal"
_OTHER = "Other analyses"


class Minimized(StrEnum):
    """The kind of object to minimize."""

    NODES = "nodes"


@dataclass(frozen=True, kw_only=True)
class OptimumRequest(AnalysisRequest["Optimum | Purchased | Emptied"]):
    """Find the best placement of all pending pods at once, and compare it with kube-scheduler's, one pod after another.

    Raises
    ------
    InputError
        If the catalog is wrong, or the solver is not installed (the extra ``optimum``).

    Examples
    --------
    >>> import kschedctl
    >>> answer = kschedctl.load("fixtures/shop/cluster").optimum()
    >>> answer.placed, answer.multi_step_placed, answer.proven
    (3, 3, True)

    Command
    -------
    Goals are, in this order: many pods on nodes, by priority from the highest; no violated disruption budgets; few
    evictions, again by priority; then --goal. A pod is evicted only on a node that a pod of higher priority is placed
    on, as preemption allows; pods that their controllers recreate are placed, too. The placement shown has passed the
    scheduler's own filters, pod by pod.

    The search ends when no better placement comes, even if one may exist: the answer then says by how much it could be
    better, and --prove goes on.

    With --buy, nodes of a catalog are selected with which all pods can be placed; with --minimize, nodes that can be
    emptied.

    The exit code is 0 if the best placement has all pods on nodes, or some node can be emptied, and 1 otherwise.
    """

    examples: ClassVar[tuple[Example, ...]] = (
        Example("Compare the scheduler with the best placement of all pending pods:", "optimum -o wide"),
        Example("Add a workload, and use as few nodes as possible:", "optimum web.yaml --goal nodes --time-limit 10"),
    )

    goal: Annotated[
        FinalGoal,
        Option(
            "--goal",
            "",
            "Last goal: the scheduler's own scores in the current cluster, or few nodes in use.",
            heading=_HOW,
        ),
    ] = FinalGoal.SCORES
    time_limit: Annotated[
        float,
        Option(
            "--time-limit",
            "SECONDS",
            "Time limit of the solver; after that, the best placement so far is shown with its bound.",
            heading=_HOW,
            least=0.1,
        ),
    ] = 60.0
    prove: Annotated[
        bool,
        Option(
            "--prove",
            "",
            "Continue the search when no better placement comes, until a proof or --time-limit.",
            heading=_HOW,
        ),
    ] = False
    minimize: Annotated[
        Minimized | None,
        Option("--minimize", "", "Show which nodes can be emptied, and in which order to drain them.", heading=_OTHER),
    ] = None
    buy: Annotated[
        str,
        Option(
            "--buy",
            "CATALOG",
            "Find the cheapest nodes of a catalog (YAML) with which all pending pods can be placed, without evictions.",
            heading=_OTHER,
        ),
    ] = ""

    def check(self) -> None:
        if self.buy and self.minimize is not None:
            raise RequestError("cannot be combined with {minimize}", "buy")

    def answer(self, cluster: "LoadedCluster", handle: AnalysisHandle) -> "Optimum | Purchased | Emptied":
        from kschedctl.questions.optimum.analysis import consolidate, optimum, purchase
        from kschedctl.trials.optimum.purchase import read_catalog

        if self.buy:
            return purchase(cluster, read_catalog(self.buy), handle, seconds=self.time_limit, proves=self.prove)
        if self.minimize is not None:
            return consolidate(cluster, handle, seconds=self.time_limit, proves=self.prove)
        return optimum(cluster, self, handle)
