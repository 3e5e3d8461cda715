"""``--set-priority``: its syntax, and its effect on a pod."""

from __future__ import annotations

import pytest

from kschedctl.common.errors import InputError
from kschedctl.trials.whatif.edits import SetPriority
from tests.builders import make_node
from tests.trials.whatif.pods import loaded, manifest

READ = {
    "1000": SetPriority(1000),
    "-5": SetPriority(-5),
    "high": SetPriority("high"),
    "system-node-critical": SetPriority("system-node-critical"),
}
WRONG = {
    "": "is not a priority",
    "High": "a whole number, such as 1000, or the name of a PriorityClass",
    "1.5": "is not a priority",
    "2147483648": "is not a priority",
}
#: The edit, the pod's class, the resulting priority, class and preemptionPolicy, and a part of the edit's text.
MADE: dict[str, tuple[SetPriority, str, tuple[int, str, str], str]] = {
    "a class": (
        SetPriority("high"),
        "",
        (1000, "high", "PreemptLowerPriority"),
        "with priority 1000",
    ),
    "another class": (SetPriority("high"), "meek", (1000, "high", "PreemptLowerPriority"), "has PriorityClass high"),
    "a class that preempts nobody": (SetPriority("meek"), "high", (500, "meek", "Never"), "has PriorityClass meek"),
    "a class of the system": (
        SetPriority("system-node-critical"),
        "",
        (2_000_001_000, "system-node-critical", "PreemptLowerPriority"),
        "with priority 2000001000",
    ),
    "a number": (SetPriority(7), "", (7, "", "PreemptLowerPriority"), "the pod has priority 7"),
    "a number, of a pod that preempts nobody": (SetPriority(7), "meek", (7, "", "Never"), "the pod has priority 7"),
}


@pytest.mark.parametrize("text", READ)
def test_what_is_read(text: str) -> None:
    assert SetPriority.parse(text) == READ[text]
    assert str(SetPriority.parse(text)) == f"set priority {text}"


@pytest.mark.parametrize("text", WRONG)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        SetPriority.parse(text)
    assert str(caught.value).startswith("--set-priority: ")
    assert WRONG[text] in str(caught.value)


@pytest.mark.parametrize("case", MADE)
def test_what_a_pod_is_afterwards(case: str) -> None:
    edit, of_class, expected, told = MADE[case]
    cluster = loaded([make_node()], edit)
    spec = cluster.decide(manifest({"priorityClassName": of_class})).pod.spec
    assert (spec.priority, spec.priority_class_name, spec.preemption_policy) == expected
    assert told in cluster.snapshot.changes[0]
