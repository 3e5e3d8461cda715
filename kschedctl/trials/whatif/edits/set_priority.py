"""``--set-priority N|CLASS``: changes the priority of the pods.

A PriorityClass also sets the pod's preemptionPolicy, as it does for a manifest that names the class. A number changes
the priority alone, as if the value of the pod's class were different: the preemptionPolicy is kept. An API server
rejects a manifest with a priority that no class defines, so a number applies after admission; ResourceQuotas with a
PriorityClass scope therefore count the pod under the class that its manifest names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Self

from kschedctl.common.errors import InputError
from kschedctl.trials.whatif.edit import Option, PodEdit, Thing

if TYPE_CHECKING:
    from kschedctl.cluster.cluster import Cluster
    from kschedctl.objects.pod import Pod
    from kschedctl.objects.policies import PriorityClass

_FLAG: Final = "--set-priority"
_EXPECTED: Final = "a whole number, such as 1000, or the name of a PriorityClass"
_INT32: Final = range(-(2**31), 2**31)


@dataclass(frozen=True, slots=True)
class SetPriority(PodEdit):
    """An edit that changes the priority of the pods.

    Attributes
    ----------
    priority : int or str
        The priority, or the name of a PriorityClass.
    """

    option: ClassVar[Option] = Option(_FLAG, "N|CLASS", "Answer as if the pod had this priority or this PriorityClass.")

    priority: int | str

    def __str__(self) -> str:
        return f"set priority {self.priority}"

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Parse a 32-bit integer or the name of a PriorityClass.

        Raises
        ------
        InputError
            If the text is neither.

        Examples
        --------
        >>> SetPriority.parse("1000"), SetPriority.parse("high")
        (SetPriority(priority=1000), SetPriority(priority='high'))
        """
        from kschedctl.objects.names import subdomain_problems

        if re.fullmatch(r"-?[0-9]{1,10}", text, re.ASCII) and int(text) in _INT32:
            return cls(int(text))
        if re.fullmatch(r"[-+]?[0-9.]+", text, re.ASCII) or subdomain_problems(text):
            raise InputError(f'"{text}" is not a priority', where=_FLAG, hint=_EXPECTED)
        return cls(text)

    @property
    def after_admission(self) -> bool:
        """True for a number: an API server rejects a manifest that sets one."""
        return isinstance(self.priority, int)

    def apply_to_pod(self, pod: Pod, cluster: Cluster) -> Pod:
        """Set the priority.

        Raises
        ------
        InputError
            If the cluster has no such PriorityClass.
        """
        from msgspec.structs import replace

        from kschedctl.objects.validation.pod_rejections import PREEMPT

        if isinstance(self.priority, int):
            return replace(pod, spec=replace(pod.spec, priority=self.priority, priority_class_name=""))
        found = _find(cluster, self.priority)
        spec = replace(
            pod.spec,
            priority=found.value,
            priority_class_name=found.name,
            preemption_policy=found.preemption_policy or PREEMPT,
        )
        return replace(pod, spec=spec)

    def told(self, cluster: Cluster) -> str:
        """Describe the pod's priority after the change.

        Raises
        ------
        InputError
            If the cluster has no such PriorityClass.
        """
        if isinstance(self.priority, int):
            return f"the pod has priority {self.priority}"
        return f"the pod has PriorityClass {self.priority} with priority {_find(cluster, self.priority).value}"

    def things(self) -> Iterator[Thing]:
        """Yield the pod's priority."""
        yield ("priority",)


def _find(cluster: Cluster, name: str) -> PriorityClass:
    from kschedctl.controllers.admission.priority import priority_class
    from kschedctl.objects.policies import SYSTEM_CLASSES, PriorityClass
    from kschedctl.trials.whatif.targets import near

    found = priority_class(cluster, name)
    if found is None:
        known = sorted(each.name for each in (*cluster.list(PriorityClass), *SYSTEM_CLASSES))
        raise InputError(f"the cluster has no PriorityClass {name}", hint=near(name, known, "PriorityClasses"))
    return found
