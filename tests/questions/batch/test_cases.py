from typing import Any

import msgspec
import pytest

from kschedctl.common.errors import ConfigError, InputError, UnsupportedError
from kschedctl.objects.releases.release import LATEST, RELEASES
from kschedctl.questions.batch import sequences
from kschedctl.questions.batch.cases import Case, decide
from kschedctl.questions.batch.sequences import SequenceCase, run_sequence
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.plugins.registry import in_tree_registry

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "a"},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
}
POD: dict[str, Any] = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}


def decided(*objects: Any, pod: Any = POD, config: Any = None) -> Decision:
    return decide(Case(id="x", pod=pod, objects=objects, config=config), LATEST, in_tree_registry())


def test_a_case() -> None:
    assert decided(NODE).best == ("a",)


def test_kinds_that_scheduling_does_not_read_are_passed_over() -> None:
    assert decided({"apiVersion": "v1", "kind": "ConfigMap"}, NODE).best == ("a",)


def test_the_pod_is_defaulted() -> None:
    assert decided(NODE).pod.key == "default/p"


def test_a_configuration() -> None:
    config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    pod = {**POD, "spec": {**POD["spec"], "schedulerName": "b"}}
    assert decided(NODE, pod=pod, config={**config, "profiles": [{"schedulerName": "b"}]}).best == ("a",)


@pytest.mark.parametrize(
    ("objects", "pod", "path"),
    [
        pytest.param([NODE, {**NODE, "spec": 5}], POD, "objects[1]", id="an object"),
        pytest.param([NODE], {"spec": {"containers": "none"}}, "pod", id="the pod"),
    ],
)
def test_what_is_no_object_is_named(objects: list[Any], pod: Any, path: str) -> None:
    with pytest.raises(InputError) as caught:
        decided(*objects, pod=pod)
    assert [finding.field for finding in caught.value.findings] == [path]


def test_a_wrong_quantity_is_named() -> None:
    broken = {**NODE, "status": {"allocatable": {"cpu": "x"}}}
    with pytest.raises(InputError, match=r"^objects\[0\] \(Node a\): status.allocatable.cpu"):
        decided(broken)


def test_a_wrong_configuration_is_named() -> None:
    with pytest.raises(ConfigError, match=r"^config"):
        decided(NODE, config={"apiVersion": "v1", "kind": "Pod"})


def case(n_members: int) -> SequenceCase:
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "gang", "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": n_members}}},
    }
    spec: dict[str, Any] = {"containers": [{"name": "c"}], "schedulingGroup": {"podGroupName": "gang"}}
    pods = [{"metadata": {"name": f"m{i}", "namespace": "default"}, "spec": spec} for i in range(n_members)]
    data = {"id": "x", "objects": [group], "pods": pods, "featureGates": {"GenericWorkload": True}}
    return msgspec.convert(data, SequenceCase)


def test_an_attempt_at_a_group_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without nodes, the group is tried twice before the run is at rest."""
    monkeypatch.setattr(sequences, "MOST_ATTEMPTS", 2)
    assert len(run_sequence(case(5), RELEASES["1.37"], in_tree_registry()).attempts) == 10
    monkeypatch.setattr(sequences, "MOST_ATTEMPTS", 1)
    with pytest.raises(UnsupportedError, match="does not settle"):
        run_sequence(case(5), RELEASES["1.37"], in_tree_registry())
