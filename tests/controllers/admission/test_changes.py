"""The text of a change by an admission plugin, by table."""

from typing import Any

import pytest

from kschedctl.controllers.admission.changes import FieldChange, changes_between
from kschedctl.objects.pod import Pod
from tests.builders import make_object

CONTAINER = {"name": "c", "image": "i"}
LIMITED = {**CONTAINER, "resources": {"requests": {"cpu": "1", "example.com/gpu": 2}}}
TOLERATION = {"key": "a", "operator": "Exists"}


def pod(**spec: Any) -> Pod:
    return make_object(Pod, "pod", labels={"app": "web"}, spec=spec)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param({}, {}, [], id="nothing"),
        pytest.param({}, {"priority": 7}, [("spec.priority", None, 7)], id="a field that was not set"),
        pytest.param({"priority": 1}, {"priority": 7}, [("spec.priority", 1, 7)], id="a field that was"),
        pytest.param({"nodeName": "a"}, {}, [("spec.nodeName", "a", None)], id="a field that is not any more"),
        pytest.param(
            {"containers": [CONTAINER]},
            {"containers": [LIMITED]},
            [
                ("spec.containers[0].resources.requests[cpu]", None, "1"),
                ("spec.containers[0].resources.requests[example.com/gpu]", None, 2),
            ],
            id="keys of the user in brackets",
        ),
        pytest.param(
            {}, {"tolerations": [TOLERATION]}, [("spec.tolerations[0]", None, TOLERATION)], id="a new item as a whole"
        ),
        pytest.param(
            {"tolerations": [TOLERATION]}, {}, [("spec.tolerations[0]", TOLERATION, None)], id="an item that is gone"
        ),
        pytest.param(
            {"nodeSelector": {"a": "1"}},
            {"nodeSelector": {"a": "1", "b": "2"}},
            [("spec.nodeSelector[b]", None, "2")],
            id="only what is new in a map",
        ),
    ],
)
def test_changes(before: dict[str, Any], after: dict[str, Any], expected: list[tuple[str, Any, Any]]) -> None:
    assert changes_between("P", pod(**before), pod(**after)) == tuple(FieldChange("P", *change) for change in expected)
