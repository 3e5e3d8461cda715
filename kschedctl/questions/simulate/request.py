"""The question of ``simulate``."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from kschedctl.common.options import SEED, Example
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.request import AnalysisRequest, AnyPod

if TYPE_CHECKING:
    from kschedctl.questions.simulate.answer import Simulated
    from kschedctl.trials.loaded_cluster import LoadedCluster


@dataclass(frozen=True)
class NewPods(AnalysisRequest["Simulated"]):
    """Pods that a program adds to the pending ones."""

    pods: Annotated[AnyPod | Iterable[AnyPod], "New pods, which are queued after the pending ones."] = ()

    @property
    def new_pods(self) -> tuple[AnyPod, ...]:
        """The pods, one by one."""
        from kschedctl.objects.pod import Pod

        if isinstance(self.pods, Pod | Mapping | str) or not isinstance(self.pods, Iterable):
            return (self.pods,)
        return tuple(self.pods)


@dataclass(frozen=True, kw_only=True)
class SimulateRequest(NewPods):
    """Schedule many pods one after another, and show which are scheduled, which stay pending and which are evicted.

    The pods are those of the manifests and the pending ones of the snapshot, in the order of their creation; they go
    through kube-scheduler's queue. Time is simulated: back-off, grace periods of victims, and the pods that controllers
    recreate. When a pod is bound, its claims are bound or provisioned, and it counts as healthy for disruption budgets.
    The pods of a gang are tried together and shown together.

    Raises
    ------
    ManifestError
        If there is no such pod, or an API server would refuse it.

    Examples
    --------
    >>> import kschedctl
    >>> kschedctl.load("fixtures/shop/cluster").simulate().summary
    '4 of 5 pods placed; 1 pending, 1 evicted'

    Command
    -------
    The exit code is 0 if all pods are scheduled, and 1 if some stay pending; Ctrl-C shows the part that was done.
    """

    examples: ClassVar[tuple[Example, ...]] = (
        Example("Schedule the pending pods one after another, and show placements and evictions:", "simulate -o wide"),
        Example(
            "Add two workloads, remove a zone, and save the final state as a snapshot:",
            "simulate web.yaml db.yaml --fail-zone eu-1a --save after",
        ),
    )

    seed: Annotated[int | None, SEED] = None

    def answer(self, cluster: "LoadedCluster", handle: AnalysisHandle) -> "Simulated":
        from kschedctl.questions.simulate.analysis import simulate

        return simulate(cluster, self, handle)
