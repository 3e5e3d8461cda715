"""The pending pods, as data: printed by ``pending -o json``, and the source of its text.

The form is part of the public interface. ``schema.json`` describes it and is made from these types.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Final

from kschedctl.common.frames import Cell, ColumnType, Tabular
from kschedctl.questions.answer import ClusterAnswer, Data
from kschedctl.questions.answer_parts import GROUP_WORDS, AppliedData, DiagnosisData, PodGroupData


class GroupData(Data, frozen=True):
    """Pods of one workload that are pending, do not start or are not created, with the same cause.

    Pending pods of a PodGroup are one group, because the scheduler tries them together.
    """

    kind: Annotated[
        str,
        "The kind of the workload that owns the pods; Pod for a pod without one; PodGroup for pods that are tried "
        "together; the kind of the object with the problem if it is no workload.",
    ]
    namespace: Annotated[str, "The namespace of the workload or object; empty if it has none."]
    name: Annotated[str, "The name of the workload or object."]
    pods: Annotated[tuple[str, ...], "The pods as namespace/name, oldest first."]
    since: Annotated[datetime | None, "The creation time of the oldest pod; null if unknown."]
    waiting_seconds: Annotated[
        int | None,
        "The age of the oldest pod at the time of the snapshot, in seconds; null if its creation time is unknown.",
    ]
    result: Annotated[
        str,
        "The result as in explain; notOurs if no profile of the configuration has the pods' schedulerName; "
        "notKnown if the pods may fit or not, as a kind could not be listed; notCreated if the workload has fewer "
        "pods than it wants; notStarted for pods with a node that do not start; notRunning for a component that "
        "does not work; notResized for a pod whose kubelet has not carried out its resize.",
    ]
    why: Annotated[str, "The cause, with names and numbers; empty if the pods fit."]
    fitting: Annotated[int | None, "The number of pods that fit without any change; null if that was not tried."]
    preempts: Annotated[bool, "True if preemption finds a node for the first pod."]
    message: Annotated[str, "The text of the FailedScheduling event of the first pod."]
    priority: Annotated[int | None, "The priority of the first pod; null if there is no pending pod."] = None
    fitting_once_ended: Annotated[
        int, "The number of those in fitting that fit only once pods that are being deleted are gone."
    ] = 0
    missing: Annotated[int, "The number of pods that have not been created."] = 0
    state: Annotated[str, "The problem of the object in a few words; empty for pods without a node."] = ""
    diagnoses: Annotated[tuple[DiagnosisData, ...], "The causes with their evidence, the most important first."] = ()
    group: Annotated[
        PodGroupData | None,
        "The decision for the PodGroup; null for pods that are tried by themselves, and for a group that is not tried.",
    ] = None

    @property
    def label(self) -> str:
        """The workload or object in words, such as ``Job ml/train`` or ``gang ml/train``."""
        if self.group is not None:
            return self.group.title
        named = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{GROUP_WORDS.get(self.kind, self.kind)} {named}"


class UnblockingData(AppliedData, frozen=True):
    """A change that was made and tried in a simulation of the scheduling queue."""

    would_place: Annotated[
        tuple[str, ...], "The pods that the change schedules, in addition to those of earlier changes."
    ]
    group: Annotated[
        str, "The PodGroup that a change was tried for alone, as namespace/name; empty for other changes."
    ] = ""


class AdviceData(Data, frozen=True):
    """A cure that cannot be tried on a snapshot."""

    summary: Annotated[str, "The cure in a few words."]
    of: Annotated[str, "The workload or object that it is for, such as Deployment shop/web."]
    risk: Annotated[int, "The risk, from 1: wait, mistake, pod, capacity, shared, eviction, reduced, dropped, data."]
    untried: Annotated[str, "The reason why it cannot be tried."]
    commands: Annotated[tuple[str, ...], "The kubectl commands; a line that starts with # is an instruction."]


class Pending(ClusterAnswer, Tabular, frozen=True, kw_only=True, tag="Pending"):
    """The pending pods, by cause."""

    summary: Annotated[str, "The result in one or two sentences."]
    groups: Annotated[tuple[GroupData, ...], "The groups, largest first; those that fit are last."]
    fit: Annotated[
        tuple[str, ...] | None,
        "The pods that fit without any change, scheduled one after another; null if that was not tried.",
    ]
    changes: Annotated[
        tuple[UnblockingData, ...],
        "The changes, in the order in which they are made; each applies on top of the earlier ones.",
    ]
    together: Annotated[tuple[str, ...], "The pods that all changes together schedule."]
    alone: Annotated[
        tuple[UnblockingData, ...],
        "Changes for groups that those above do not help, each tried for the first pod of a group alone, or for a "
        "PodGroup, as explain tries them.",
    ] = ()
    advice: Annotated[
        tuple[AdviceData, ...], "Cures that cannot be tried on a snapshot, those of lowest risk first."
    ] = ()
    starting: Annotated[
        tuple[str, ...], "The pods of phase Pending that have a node and no known problem, as namespace/name."
    ] = ()
    autoscaler: Annotated[
        str, "The autoscaler of nodes: Karpenter or Cluster Autoscaler; empty if none is known, or no pod is pending."
    ] = ""

    @property
    def all_fit(self) -> bool:
        """True if all pods fit without any change, as far as that was tried, and no workload lacks pods."""
        return all(group.result == "scheduled" and group.fitting in (None, len(group.pods)) for group in self.groups)

    @property
    def yes(self) -> bool:
        """True if all pods fit without any change."""
        return self.all_fit

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the pending pods, one line per pod: ``pod/NAMESPACE/NAME``."""
        return tuple(
            f"pod/{pod}"
            for group in self.groups
            if group.result not in ("notRunning", "notResized")
            for pod in group.pods
        )

    def column_types(self) -> dict[str, ColumnType]:
        """Return the columns of the table of groups."""
        return _GROUP_COLUMNS

    def table(self) -> Iterator[tuple[Cell, ...]]:
        """Yield the rows of the table, one per group."""
        for group in self.groups:
            yield tuple(len(group.pods) if name == "pods" else getattr(group, name) for name in _GROUP_COLUMNS)


_GROUP_COLUMNS: Final[dict[str, ColumnType]] = {
    "kind": str,
    "namespace": str,
    "name": str,
    "pods": int,
    "fitting": int,
    "missing": int,
    "result": str,
    "why": str,
    "preempts": bool,
    "priority": int,
    "since": datetime,
    "waiting_seconds": int,
    "message": str,
}
