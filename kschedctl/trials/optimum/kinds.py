"""The pods of the question for the solver: kinds of pods to place, and the running pods that may be evicted."""

from __future__ import annotations

from dataclasses import dataclass

from kschedctl.objects.pod import Pod
from kschedctl.trials.optimum.filters import FilterResults


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A set of identical pods.

    Attributes
    ----------
    pods : tuple of Pod
        Pending pods, the oldest first; empty for a kind that exists only after evictions.
    sample : Pod
        One pod of the kind.
    class_id : int
        The pods' class in the cluster of the question.
    preempts : bool
        True if the pods can preempt others.
    filters : FilterResults
        The filters' results.
    """

    pods: tuple[Pod, ...]
    sample: Pod
    class_id: int
    preempts: bool
    filters: FilterResults

    @property
    def priority(self) -> int:
        """The pods' priority."""
        return self.sample.spec.priority or 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupants:
    """Identical pods on one node that may be evicted.

    Attributes
    ----------
    row : int
        The node.
    pods : tuple of int
        Indices into the pods of the initial cluster.
    class_id, priority : int
        The pods' class and priority.
    kind : int
        The kind of the pods that their controller creates instead; -1 if no controller does.
    """

    row: int
    pods: tuple[int, ...]
    class_id: int
    priority: int
    kind: int
