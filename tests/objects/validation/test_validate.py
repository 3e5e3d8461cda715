"""Properties of validation for all objects, and the time that many objects take."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.common.findings import Severity
from kschedctl.objects.releases.release import LATEST, RELEASES
from kschedctl.objects.validation.pod import pod_findings
from kschedctl.objects.validation.validate import RULES, refuses, validate
from tests.objects.validation.generator import made_up
from tests.objects.validation.groups import GROUP_KINDS
from tests.objects.validation.probes import BASES
from tests.objects.validation.saying import said

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


def findings(obj: dict[str, Any], release: str = "1.36") -> list[Any]:
    return list(validate(obj["apiVersion"], obj["kind"], obj, RELEASES[release]))


@given(st.sampled_from(sorted(BASES)), st.integers(0, 2**32))
def test_every_object_gets_an_answer(kind: str, seed: int) -> None:
    for release in RELEASES:
        found = findings(made_up(kind, seed), release)
        errors = [finding for finding in found if refuses(finding)]
        # Of what is refused, nothing is warned of.
        assert not errors or all(finding.severity is Severity.ERROR for finding in found)
        assert all(finding.problem and finding.rule for finding in found)


@given(st.sampled_from(sorted(BASES)), st.dictionaries(st.sampled_from(["metadata", "spec", "value"]), _JSON))
def test_no_data_is_too_strange(kind: str, fields: dict[str, Any]) -> None:
    findings({**BASES[kind], **fields})


@pytest.mark.parametrize("kind", [kind for kind in BASES if kind not in ("PodDisruptionBudget", "PriorityClass")])
def test_a_plain_object_is_taken(kind: str) -> None:
    assert findings(BASES[kind]) == []


def test_kinds_without_rules_are_only_read() -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "Not A Name"}, "spec": {"unschedulable": "yes"}}
    [finding] = findings(node)
    assert (
        finding.problem == "json: cannot unmarshal string into Go struct field NodeSpec.spec.unschedulable of type bool"
    )
    assert findings({**node, "spec": {}}) == []
    assert findings({"apiVersion": "example.com/v1", "kind": "Machine", "spec": []}) == []


def test_every_kind_with_rules_is_probed() -> None:
    assert {key.rpartition("/")[2] for key in RULES} == {*BASES, *GROUP_KINDS}


def test_admission_can_be_left_to_who_knows_the_classes() -> None:
    obj = {**BASES["Pod"], "spec": {**BASES["Pod"]["spec"], "priority": 5, "restartPolicy": "Sometimes"}}
    every = list(validate("v1", "Pod", obj, LATEST))
    own = list(validate("v1", "Pod", obj, LATEST, admission=False))
    assert [finding.field for finding in every] == ["spec.priority"]
    assert [finding.field for finding in own] == ["spec.restartPolicy"]


def test_of_a_pod_that_went_through_admission_what_scheduling_does_not_read_is_not_missed() -> None:
    pod = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "a"}]}}
    assert list(pod_findings(pod, LATEST)) == []
    pod["spec"]["tolerations"] = [{"key": "a", "effect": "NoRun"}]  # type: ignore[index]
    assert [finding.field for finding in pod_findings(pod, LATEST)] == ["spec.tolerations[0].effect"]


@pytest.mark.parametrize(
    ("kind", "spec", "messages"),
    [
        (
            "HorizontalPodAutoscaler",
            {"maxReplicas": -1, "scaleTargetRef": {"kind": "ReplicationController"}},
            [
                "spec.maxReplicas: Invalid value: -1: must be greater than or equal to `minReplicas`",
                "spec.scaleTargetRef.name: Required value",
                "spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1",
            ],
        ),
        (
            "HorizontalPodAutoscaler",
            {"maxReplicas": 0, "minReplicas": -1, "scaleTargetRef": {"kind": "x", "name": "x", "apiVersion": "a/b"}},
            [
                "spec.minReplicas: Invalid value: -1: must be greater than or equal to 0",
                "spec.maxReplicas: Required value",
            ],
        ),
        (
            "Pod",
            {"hostPID": True, "shareProcessNamespace": True, "securityContext": {"fsGroup": -1}},
            [
                "spec.securityContext.fsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive",
                "spec.shareProcessNamespace: Invalid value: true: "
                "ShareProcessNamespace and HostPID cannot both be enabled",
            ],
        ),
        (
            "Pod",
            {
                "os": {"name": "windows"},
                "hostPID": True,
                "shareProcessNamespace": False,
                "securityContext": {"fsGroup": 1},
            },
            [
                "spec.securityContext.fsGroup: Forbidden: cannot be set for a windows pod",
                "spec.hostPID: Forbidden: cannot be set for a windows pod",
                "spec.shareProcessNamespace: Forbidden: cannot be set for a windows pod",
            ],
        ),
    ],
    ids=["limits of replicas", "scaling to zero", "shared processes", "a Windows pod"],
)
def test_messages_of_1_37(kind: str, spec: dict[str, Any], messages: list[str]) -> None:
    obj = {**BASES[kind], "spec": {**BASES[kind]["spec"], **spec}}
    assert said(obj, RELEASES["1.37"]).refused == tuple(messages)
