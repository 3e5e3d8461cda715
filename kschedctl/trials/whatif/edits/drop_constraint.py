"""``--drop-constraint``: removes spread constraints, pod affinity, pod anti-affinity or node affinity of the pods.

The edit removes required and preferred constraints. Constraints with a topology key can be restricted to one key:
``spread:topology.kubernetes.io/zone``. A pod without spread constraints of its own gets the scheduler's default
constraints if the pod belongs to a Service or a workload. ``--node-selector`` changes the nodeSelector.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Self

from kschedctl.common.errors import InputError
from kschedctl.trials.whatif.edit import Option, PodEdit, Thing

if TYPE_CHECKING:
    from kschedctl.cluster.cluster import Cluster
    from kschedctl.objects.pod import Affinity, Pod, PodAffinity

_FLAG: Final = "--drop-constraint"
SPREAD: Final = "spread"
AFFINITY: Final = "affinity"
ANTI_AFFINITY: Final = "anti-affinity"
NODE_AFFINITY: Final = "node-affinity"
_IN_WORDS: Final = {
    SPREAD: "topology spread constraints",
    AFFINITY: "pod affinity",
    ANTI_AFFINITY: "pod anti-affinity",
    NODE_AFFINITY: "node affinity",
}
_EXPECTED: Final = "spread, affinity, anti-affinity, each also with :TOPOLOGYKEY, or node-affinity"


@dataclass(frozen=True, slots=True)
class DropConstraint(PodEdit):
    """An edit that removes the constraints of one type from the pods.

    Attributes
    ----------
    constraint : str
        ``spread``, ``affinity`` (to pods), ``anti-affinity`` (to pods) or ``node-affinity``.
    topology_key : str
        The topology key of the constraints to remove; empty for all constraints. Node affinity has no topology key.
    """

    option: ClassVar[Option] = Option(
        _FLAG,
        "KIND",
        "Answer as if the pod had no such constraint: spread[:TOPOLOGYKEY], affinity, anti-affinity or node-affinity.",
    )

    constraint: str
    topology_key: str = ""

    def __str__(self) -> str:
        return f"drop constraint {self.constraint}{':' if self.topology_key else ''}{self.topology_key}"

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Parse ``spread``, ``affinity`` or ``anti-affinity``, each also with ``:TOPOLOGYKEY``, or ``node-affinity``.

        Raises
        ------
        InputError
            If the text is none of these.

        Examples
        --------
        >>> print(DropConstraint.parse("spread:rack"), DropConstraint.parse("node-affinity"), sep=" | ")
        drop constraint spread:rack | drop constraint node-affinity
        """
        from kschedctl.trials.whatif.values import check_label

        constraint, colon, key = text.partition(":")
        if constraint not in _IN_WORDS or (colon and constraint == NODE_AFFINITY):
            raise InputError(f'"{text}" is not a constraint', where=_FLAG, hint=_EXPECTED)
        if colon:
            check_label(text, key, "", where=_FLAG)
        return cls(constraint, key)

    def apply_to_pod(self, pod: Pod, cluster: Cluster) -> Pod:
        """Remove the constraints."""
        from msgspec.structs import replace

        spec = pod.spec
        if self.constraint == SPREAD:
            kept = tuple(c for c in spec.topology_spread_constraints if not self._is_meant(c.topology_key))
            return replace(pod, spec=replace(spec, topology_spread_constraints=kept))
        if spec.affinity is None:
            return pod
        return replace(pod, spec=replace(spec, affinity=self._without(spec.affinity)))

    def told(self, cluster: Cluster) -> str:
        """Describe the constraints that the pod lacks after the change."""
        over = f" over {self.topology_key}" if self.topology_key else ""
        return f"the pod has no {_IN_WORDS[self.constraint]}{over}"

    def things(self) -> Iterator[Thing]:
        """Yield the constraints that the edit removes."""
        yield (self.constraint, self.topology_key) if self.topology_key else (self.constraint,)

    def _is_meant(self, topology_key: str) -> bool:
        return self.topology_key in ("", topology_key)

    def _without(self, affinity: Affinity) -> Affinity:
        from msgspec.structs import replace

        match self.constraint:
            case "affinity":
                return replace(affinity, pod_affinity=self._terms(affinity.pod_affinity))
            case "anti-affinity":
                return replace(affinity, pod_anti_affinity=self._terms(affinity.pod_anti_affinity))
            case _:
                return replace(affinity, node_affinity=None)

    def _terms(self, terms: PodAffinity | None) -> PodAffinity | None:
        """Return the terms without those that the edit removes."""
        from msgspec.structs import replace

        if terms is None:
            return None
        required = terms.required_during_scheduling_ignored_during_execution
        preferred = terms.preferred_during_scheduling_ignored_during_execution
        return replace(
            terms,
            required_during_scheduling_ignored_during_execution=tuple(
                term for term in required if not self._is_meant(term.topology_key)
            ),
            preferred_during_scheduling_ignored_during_execution=tuple(
                weighted for weighted in preferred if not self._is_meant(weighted.pod_affinity_term.topology_key)
            ),
        )
