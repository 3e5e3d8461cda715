"""The question of ``rollout``."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from kschedctl.common.errors import InputError
from kschedctl.common.options import Example
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.request import AnalysisRequest

if TYPE_CHECKING:
    from kschedctl.common.findings import Where
    from kschedctl.objects.meta import ApiObject
    from kschedctl.questions.rollout.answer import RolledOut
    from kschedctl.trials.loaded_cluster import LoadedCluster
else:
    ApiObject = Where = Any


@dataclass(frozen=True)
class RolledWorkload(AnalysisRequest["RolledOut"]):
    """The workload of a rollout."""

    workload: Annotated[
        ApiObject | str,
        "The workload with its new template; fields that it does not set keep their value in the cluster. Or the name "
        "of one of the cluster, such as deploy/shop/web, whose template is rolled out again.",
    ]


@dataclass(frozen=True, kw_only=True)
class RolloutRequest(RolledWorkload):
    """Simulate the rollout of a Deployment or StatefulSet step by step, and report whether it finishes or why not.

    Raises
    ------
    InputError
        If the workload is not in the cluster, is of another kind, or an API server would refuse it.

    Examples
    --------
    >>> import kschedctl
    >>> cluster = kschedctl.load("fixtures/pending/cluster.yaml")
    >>> cluster.rollout("deploy/shop/web").summary.split(": ")[1]
    'the rollout stalls at step 3'

    Command
    -------
    The workload's own strategy applies (maxSurge, maxUnavailable, Recreate, the order and partition of a StatefulSet),
    pods that are deleted take their grace period, and time is simulated. Without -f the current template is rolled out
    again, as by kubectl rollout restart. A pod counts as ready as soon as it is bound and its ReadWriteOnce volumes are
    attached to no other node.

    The exit code is 0 if the rollout finishes, and 1 if it gets stuck.
    """

    examples: ClassVar[tuple[Example, ...]] = (
        Example("Check whether a restart of a Deployment finishes:", "rollout deploy/web -n shop"),
        Example(
            "Check whether the rollout of a new version finishes while two nodes are cordoned:",
            "rollout -f web.yaml --cordon 'node-[12]'",
        ),
    )

    #: The place that the workload was read from, for errors.
    where: Where = ""

    def answer(self, cluster: "LoadedCluster", handle: AnalysisHandle) -> "RolledOut":
        from kschedctl.objects.meta import ApiObject
        from kschedctl.questions.rollout.analysis import rollout
        from kschedctl.trials.simulate.rollout import restarted
        from kschedctl.trials.whatif.targets import find_kind, find_object, split_target

        if isinstance(self.workload, ApiObject):
            return rollout(cluster, self, handle)
        if not isinstance(self.workload, str):
            problem = f"a workload is expected, not {type(self.workload).__name__}"
            raise InputError(problem, path="workload", hint="give an object, or a name such as deploy/shop/web")
        kind, name, namespace = split_target(self.workload, "")
        found = find_object(cluster.cluster, find_kind(kind), f"{namespace}/{name}")
        return rollout(cluster, replace(self, workload=restarted(found)), handle)
