from typing import Any

import pytest

from kschedctl.common.errors import ConfigError, InputError
from kschedctl.objects.releases.release import LATEST
from kschedctl.questions.batch.cases import Case, decide
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
