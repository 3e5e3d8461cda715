"""The answer of ``rollout``."""

from typing import Annotated

from kschedctl.questions.answer import ClusterAnswer
from kschedctl.questions.answer_parts import CureData, DiagnosisData, GroupLossData
from kschedctl.questions.explain.answer import WorkloadData
from kschedctl.questions.simulate.answer import PlacementData
from kschedctl.trials.simulate.rollout_steps import RolloutStep, RolloutWaiting


class RolledOut(ClusterAnswer, frozen=True, kw_only=True, tag="Rollout"):
    """The outcome of a simulated rollout."""

    summary: Annotated[str, "The result in one sentence."]
    workload: Annotated[WorkloadData, "The workload that is rolled out."]
    strategy: Annotated[str, "The update strategy of the workload, in words."]
    finished: Annotated[bool, "True if all pods that should be replaced are replaced and available."]
    held: Annotated[
        str, "The reason why the rollout does not progress by itself; empty if it waits for pods, or finishes."
    ]
    old: Annotated[int, "The number of pods of older revisions before the rollout."]
    left: Annotated[int, "The number of pods of older revisions at the end."]
    kept: Annotated[int, "The number of pods that should not be replaced: those below the partition of a StatefulSet."]
    available_before: Annotated[int, "The number of available pods before the rollout."]
    available_least: Annotated[int, "The lowest number of available pods during the rollout."]
    available_promised: Annotated[
        int, "The number of pods that the strategy keeps available, provided that all are available at first."
    ]
    seconds: Annotated[
        float, "The duration until the rollout finishes or makes no further progress, in seconds of the virtual clock."
    ]
    waiting: Annotated[tuple[RolloutWaiting, ...], "The pods that stay pending at the end."]
    steps: Annotated[tuple[RolloutStep, ...], "The steps of the controller, in the order of time."]
    placements: Annotated[tuple[PlacementData, ...], "The new pods that have a node."]
    diagnoses: Annotated[tuple[DiagnosisData, ...], "The cause for which the rollout hangs; empty if it finishes."] = ()
    suggestions: Annotated[tuple[CureData, ...], "The changes with which the rollout finishes."] = ()
    groups: Annotated[
        tuple[GroupLossData, ...], "The pod groups that lose members; empty if the release schedules no groups."
    ] = ()

    @property
    def yes(self) -> bool:
        """True if the rollout finishes."""
        return self.finished

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the new pods with their nodes, one line per pod: ``pod/NAMESPACE/NAME node/NODE``."""
        return tuple(f"pod/{placement.pod} node/{placement.node}" for placement in self.placements)
