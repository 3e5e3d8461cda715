"""The Priority admission plugin by table."""

from typing import Any

import pytest

from kschedctl.common.errors import ManifestError
from kschedctl.controllers.admission.priority import admit_pod_group, admit_priority
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import CompositePodGroup, PodGroup, Workload
from kschedctl.objects.policies import PriorityClass
from kschedctl.objects.releases.release import RELEASES
from tests.builders import make_cluster, make_object
from tests.objects.validation.groups import GATES, release_with

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


LLAMA = make_object(
    Workload,
    "llama",
    namespace="ml",
    spec={"podGroupTemplates": [{"name": "workers", "schedulingPolicy": {"gang": {"minCount": 2}}}]},
)


def group(**spec: Any) -> PodGroup:
    return make_object(PodGroup, "llama", namespace="ml", spec={"schedulingPolicy": {"basic": {}}, **spec})


def refusal(given: PodGroup, *objects: Any, release: str = "1.37", every_gate: bool = True) -> str:
    with pytest.raises(ManifestError) as error:
        admit_pod_group(given, make_cluster([], [], *objects), release=release_with(release, every_gate=every_gate))
    [finding] = error.value.findings
    return f"{finding.field}: {finding.problem}"


@pytest.mark.parametrize("release", GATES)
@pytest.mark.parametrize(
    ("spec", "classes", "expected"),
    [
        pytest.param({}, [], (0, ""), id="no class at all"),
        pytest.param({}, [POLITE], (0, ""), id="no default class"),
        pytest.param({"preemptionPolicy": "PreemptLowerPriority"}, [LOW], (10, "low"), id="the global default"),
        pytest.param(
            {"priorityClassName": "polite", "preemptionPolicy": "Never"}, [POLITE], (1000, "polite"), id="a class"
        ),
        pytest.param(
            {"priorityClassName": "polite", "preemptionPolicy": "Never", "priority": 1000},
            [POLITE],
            (1000, "polite"),
            id="a group that was admitted before",
        ),
        pytest.param(
            {"priorityClassName": "gone", "priority": 7}, [], (7, "gone"), id="a class that the snapshot lacks"
        ),
    ],
)
def test_pod_group_admitted(
    release: str, spec: dict[str, Any], classes: list[PriorityClass], expected: tuple[int, str]
) -> None:
    admitted = admit_pod_group(group(**spec), make_cluster([], [], *classes), release=release_with(release))
    assert (admitted.spec.priority, admitted.spec.priority_class_name) == expected


@pytest.mark.parametrize(
    ("version", "every_gate", "expected"),
    [
        pytest.param("1.35", None, None, id="no groups in 1.35"),
        pytest.param("1.36", False, None, id="1.36 needs WorkloadAwarePreemption"),
        pytest.param("1.36", True, 10, id="1.36 with it"),
        pytest.param("1.37", None, None, id="1.37 needs GenericWorkload"),
        pytest.param("1.37", False, 10, id="1.37 with it"),
        pytest.param("1.38", None, None, id="1.38 needs GenericWorkload"),
        pytest.param("1.38", False, 10, id="1.38 with it"),
    ],
)
def test_the_priority_is_set_where_its_gate_is_on(version: str, every_gate: bool | None, expected: int | None) -> None:
    release = RELEASES[version] if every_gate is None else release_with(version, every_gate=every_gate)
    assert admit_pod_group(group(), make_cluster([], [], LOW), release=release).spec.priority == expected


@pytest.mark.parametrize(
    ("version", "policy", "every_gate", "expected"),
    [
        ("1.37", "", False, ""),
        ("1.37", "Never", False, "Never"),
        ("1.37", "", True, "PreemptLowerPriority"),
        ("1.38", "", False, "PreemptLowerPriority"),
    ],
)
def test_the_preemption_policy_is_set_where_its_gate_is_on(
    version: str, policy: str, every_gate: bool, expected: str
) -> None:
    release = release_with(version, every_gate=every_gate)
    admitted = admit_pod_group(group(preemptionPolicy=policy), make_cluster([], [], LOW), release=release)
    assert admitted.spec.preemption_policy == expected


def test_groups_that_are_refused() -> None:
    assert refusal(group(priorityClassName="gone"), POLITE) == (
        "spec.priorityClassName: no PriorityClass with name gone was found"
    )
    assert refusal(group(priority=7), LOW) == (
        "spec.priority: priority set in the pod group (7) must match the priority computed (10) "
        "based on the priority class set in the spec"
    )
    # An absent policy is PreemptLowerPriority before the class is looked at.
    assert refusal(group(priorityClassName="polite"), POLITE) == (
        "spec.preemptionPolicy: the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in "
        "pod group spec; priority admission controller computed Never from the given PriorityClass name"
    )


def test_without_a_policy_of_its_own_a_group_has_that_of_its_class_in_1_38() -> None:
    release, cluster = release_with("1.38"), make_cluster([], [], POLITE)
    admitted = admit_pod_group(group(priorityClassName="polite"), cluster, release=release)
    assert admitted.spec.preemption_policy == "Never"
    given = group(priorityClassName="polite", preemptionPolicy="PreemptLowerPriority")
    assert refusal(given, POLITE, release="1.38") == (
        "spec.preemptionPolicy: the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in "
        "pod group spec; priority admission controller computed Never from the given PriorityClass name"
    )


def test_a_composite_group_is_admitted_as_a_group() -> None:
    composite = make_object(CompositePodGroup, "all", spec={"priorityClassName": "polite"})
    release, cluster = release_with("1.38"), make_cluster([], [], POLITE)
    admitted = admit_pod_group(composite, cluster, release=release)
    assert (admitted.spec.priority, admitted.spec.preemption_policy) == (1000, "Never")
    assert admit_pod_group(composite, cluster, release=release_with("1.38", every_gate=False)) == composite
    wrong = make_object(CompositePodGroup, "all", spec={"priority": 7})
    with pytest.raises(ManifestError, match=r"priority set in the composite pod group \(7\) must match"):
        admit_pod_group(wrong, cluster, release=release)


def test_the_workload_of_a_group_must_exist_in_1_36() -> None:
    def of(workload: str, template: str) -> PodGroup:
        return group(podGroupTemplateRef={"workload": {"workloadName": workload, "podGroupTemplateName": template}})

    release = release_with("1.36", every_gate=False)
    found = of("llama", "workers")
    assert admit_pod_group(found, make_cluster([], [], LLAMA), release=release) == found
    path = "spec.podGroupTemplateRef.workload"
    missing = refusal(of("other", "workers"), LLAMA, release="1.36", every_gate=False)
    assert missing == f'{path}: PodGroup rejected: Workload "other" not found'
    template = refusal(of("llama", "driver"), LLAMA, release="1.36", every_gate=False)
    assert template == f'{path}: PodGroup rejected: PodGroupTemplate "driver" not found in Workload "llama"'
    later = group(workloadRef={"workloadName": "other", "templateName": "workers"})
    assert admit_pod_group(later, make_cluster(), release=release_with("1.37")).spec.workload_name == "other"
