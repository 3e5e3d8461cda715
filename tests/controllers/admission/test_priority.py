"""The Priority admission plugin by table."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.common.errors import ManifestError
from kschedctl.controllers.admission.priority import admit_priority
from kschedctl.objects.pod import Pod
from kschedctl.objects.policies import PriorityClass
from tests.builders import make_cluster, make_object

LOW = make_object(PriorityClass, "low", value=10, globalDefault=True)
LOWER = make_object(PriorityClass, "lower", value=5, globalDefault=True)
POLITE = make_object(PriorityClass, "polite", value=1000, preemptionPolicy="Never")


def pod(**spec: Any) -> Pod:
    return make_object(Pod, "pod", namespace="default", spec=spec)


@pytest.mark.parametrize(
    ("spec", "classes", "expected"),
    [
        pytest.param({}, [], (0, "", "PreemptLowerPriority"), id="no class at all"),
        pytest.param({}, [POLITE, LOW], (10, "low", "PreemptLowerPriority"), id="the global default"),
        pytest.param({}, [LOW, LOWER], (5, "lower", "PreemptLowerPriority"), id="the lowest of two global defaults"),
        pytest.param({"priorityClassName": "polite"}, [POLITE], (1000, "polite", "Never"), id="a class with a policy"),
        pytest.param(
            {"priorityClassName": "system-node-critical"},
            [],
            (2_000_001_000, "system-node-critical", "PreemptLowerPriority"),
            id="a system class needs no object",
        ),
        pytest.param(
            {"priorityClassName": "polite", "priority": 1000, "preemptionPolicy": "Never"},
            [POLITE],
            (1000, "polite", "Never"),
            id="a pod that was admitted before",
        ),
    ],
)
def test_admitted(spec: dict[str, Any], classes: list[PriorityClass], expected: tuple[int, str, str]) -> None:
    admitted, warnings = admit_priority(pod(**spec), make_cluster([], [], *classes))
    assert (admitted.spec.priority, admitted.spec.priority_class_name, admitted.spec.preemption_policy) == expected
    assert warnings == ()


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        pytest.param(
            {"priorityClassName": "gone"},
            "pod.yaml: spec.priorityClassName: no PriorityClass with name gone was found\n  the snapshot has polite",
            id="unknown class",
        ),
        pytest.param(
            {"priorityClassName": "polite", "priority": 7},
            "pod.yaml: spec.priority: the integer value of priority (7) must not be provided in pod spec; "
            "priority admission controller computed 1000 from the given PriorityClass name\n"
            "  PriorityClass polite sets 1000; name another class or leave priority out",
            id="a priority that contradicts the class",
        ),
        pytest.param(
            {"priority": 7},
            "pod.yaml: spec.priority: the integer value of priority (7) must not be provided in pod spec; "
            "priority admission controller computed 0 from the given PriorityClass name\n"
            "  the value without a PriorityClass is 0; name another class or leave priority out",
            id="a priority without a class",
        ),
        pytest.param(
            {"priorityClassName": "polite", "preemptionPolicy": "PreemptLowerPriority"},
            "pod.yaml: spec.preemptionPolicy: the string value of PreemptionPolicy (PreemptLowerPriority) must not be "
            "provided in pod spec; priority admission controller computed Never from the given PriorityClass name\n"
            "  PriorityClass polite sets Never; name another class or leave preemptionPolicy out",
            id="a policy that contradicts the class",
        ),
    ],
)
def test_refused(spec: dict[str, Any], text: str) -> None:
    with pytest.raises(ManifestError) as refused:
        admit_priority(pod(**spec), make_cluster([], [], POLITE), where="pod.yaml")
    assert str(refused.value) == text


def test_without_any_class_in_the_snapshot_a_class_is_not_found() -> None:
    with pytest.raises(ManifestError, match="no PriorityClass with name shop-critical was found"):
        admit_priority(pod(priorityClassName="shop-critical"), make_cluster())


def test_without_any_class_in_the_snapshot_a_pod_that_tells_its_priority_is_taken_at_its_word() -> None:
    admitted, warnings = admit_priority(pod(priorityClassName="shop-critical", priority=1000), make_cluster())
    assert admitted.spec.priority == 1000
    assert warnings == ("the snapshot has no PriorityClasses: shop-critical is assumed to have priority 1000",)
