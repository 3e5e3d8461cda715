"""The question of ``capacity``."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from kschedctl.common.options import Example, Option
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.request import PodsRequest

if TYPE_CHECKING:
    from kschedctl.questions.capacity.answer import PodCapacity
    from kschedctl.questions.provenance import PodSubject
    from kschedctl.trials.loaded_cluster import LoadedCluster


@dataclass(frozen=True, kw_only=True)
class CapacityRequest(PodsRequest["PodCapacity"]):
    """Count how many more copies of a pod or workload fit, and show their nodes and what stops the next copy.

    Raises
    ------
    ManifestError
        If there is no such pod, or an API server would refuse it.

    Examples
    --------
    >>> import kschedctl
    >>> kschedctl.load("fixtures/shop/cluster").capacity("shop/web-7").copies
    9

    Command
    -------
    The copies are scheduled one after another, each in addition to those before; no pod is evicted for them. Several
    pods are counted independently. Without POD and -f, the pending pods are used.

    If the cluster schedules pod groups, the members of a group are counted by whole groups: a copy of a gang fits if
    all of its pods find a node, in one topology domain if the group has such a constraint.

    For what stops the next copy, changes that evict no pod are searched for and tried, and the copies counted again.

    The exit code is 0 if at least one more copy of each pod fits, and 1 otherwise.
    """

    examples: ClassVar[tuple[Example, ...]] = (
        Example("Count how many more replicas of a Deployment fit, and what stops the next:", "capacity deploy/web"),
        Example(
            "Count two sizes of pods after adding three nodes:", "capacity small.yaml large.yaml --apply node.yaml*3"
        ),
    )

    max: Annotated[int | None, Option("--max", "N", "Stop the count after N copies. Default: no limit.", least=1)] = (
        None
    )

    suggest: Annotated[
        int | None,
        Option(
            "--suggest",
            "N",
            "Search for up to N changes with which more copies fit. Default: 5, or 0 for several pods and if more than "
            "500 copies fit.",
            least=0,
            most=100,
        ),
    ] = None

    @property
    def copied(self) -> "list[PodSubject]":
        """The pods that are copied: one per workload."""
        first: dict[object, PodSubject] = {}
        for one in self.pods:
            workload = one.workload
            key = (workload.kind, workload.namespace, workload.name) if workload is not None else one.pod.key
            first.setdefault(key, one)
        return list(first.values())

    def answer(self, cluster: "LoadedCluster", handle: AnalysisHandle) -> "PodCapacity":
        from kschedctl.questions.capacity.analysis import capacity

        (answer,) = capacity(cluster, self.found(cluster), handle)
        return answer
