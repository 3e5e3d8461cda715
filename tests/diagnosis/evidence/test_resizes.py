"""In-place resizes that kubelets have not carried out, of containers, sidecars and pods as a whole."""

from typing import Any

import pytest

from kschedctl.diagnosis.evidence.resizes import pending_resizes, withdrawn
from kschedctl.objects.pod import Pod
from tests.builders import make_cluster, make_container, make_node, make_pod

HAS = {"allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "1"}}}
GUARANTEED = {"requests": {"cpu": "3"}, "limits": {"cpu": "3"}}


def resized(reason: str = "Deferred", **own: Any) -> Pod:
    status = own.pop("status", {"containerStatuses": [{"name": "c", **HAS}]})
    condition = {"type": "PodResizePending", "status": "True", "reason": reason}
    return make_pod("p", node="n", status={"phase": "Running", "conditions": [condition], **status}, **own)


SIDECAR = {**make_container("s", requests={"cpu": "3"}), "restartPolicy": "Always"}
COUNTS = "counts 3 cpu for a resize that its kubelet defers, and has 1"
FREE = "withdraw the resize of default/p: 2 cpu are free on n at once"


@pytest.mark.parametrize(
    ("pod", "words", "cure", "path"),
    [
        pytest.param(resized(requests={"cpu": "3"}), COUNTS, FREE, "/spec/containers/0/resources", id="deferred"),
        pytest.param(
            resized("Infeasible", requests={"cpu": "3"}),
            "asks for 3 cpu by a resize that its kubelet cannot carry out, and keeps 1",
            "withdraw the resize of default/p: n can never hold what it asks for",
            "/spec/containers/0/resources",
            id="infeasible: the scheduler does not count it",
        ),
        pytest.param(
            resized(initContainers=[SIDECAR], status={"initContainerStatuses": [{"name": "s", **HAS}]}),
            COUNTS,
            FREE,
            "/spec/initContainers/0/resources",
            id="a sidecar",
        ),
        pytest.param(
            resized(
                resources={"requests": {"cpu": "3"}},
                status={"allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "1"}}},
            ),
            COUNTS,
            FREE,
            "/spec/resources",
            id="the pod as a whole",
        ),
    ],
)
def test_resizes(pod: Pod, words: str, cure: str, path: str) -> None:
    cluster = make_cluster([make_node("n")], [pod])
    (found,) = pending_resizes(cluster)
    assert (found.words(), withdrawn(cluster, [found]).summary) == (words, cure)
    assert [each["path"] for each in found.patch(cluster).patch] == [path]


def test_limits_that_equal_the_requests_go_back_with_them() -> None:
    container = {**make_container("c"), "resources": GUARANTEED}
    cluster = make_cluster([make_node("n")], [resized(containers=[container])])
    (found,) = pending_resizes(cluster)
    assert found.patch(cluster).patch[0]["value"] == {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}
