"""A whole watch of a server whose objects are not all valid."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from kschedctl.questions.cluster_request import ClusterRequest, ClusterSource
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.watch.answer import PodWaits
from kschedctl.watch.run import WatchRequest, watch
from tests.live.plain_server import serving

LARGE = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "64"}}}], "schedulerName": "default-scheduler"}
NODE = {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}}


def pod(name: Any, cpu: Any = "64") -> dict[str, Any]:
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    return {
        "metadata": {"name": name, "namespace": "default", "uid": f"u-{name}"},
        "spec": {**LARGE, "containers": containers},
    }


QUANTITY = 'Pod default/bad: spec.containers[0].resources.requests.cpu: "much" is not a quantity'
TYPE = "metadata.name: 7 is a number, text is expected"


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        pytest.param(pod("bad", "much"), QUANTITY, id="a quantity"),
        pytest.param(pod(7), TYPE, id="a value of another type"),
    ],
)
@pytest.mark.parametrize("later", [False, True], ids=["in the list", "in an event"])
def test_an_invalid_pod_is_a_warning_and_the_others_are_answered(
    bad: dict[str, Any], problem: str, later: bool, tmp_path: Path
) -> None:
    ended = Event()

    def events(path: str) -> Iterator[bytes]:
        if path.endswith("/pods"):
            for each in (bad, pod("late")):
                yield json.dumps({"type": "ADDED", "object": each}).encode() + b"\n"
        while not ended.wait(0.02):
            yield b""

    def answer(path: str, query: dict[str, str]) -> tuple[int, Any]:
        if path.startswith("/apis") or not path.endswith(("/pods", "/nodes")):
            return 0, None
        if query.get("watch"):
            return 200, events(path) if later else events("")
        items = [NODE] if path.endswith("/nodes") else [pod("early"), *([] if later else [bad, pod("late")])]
        return 200, {"metadata": {"resourceVersion": "10"}, "items": items}

    told: list[str] = []
    answered: set[str] = set()
    with serving(answer, tmp_path) as (live, _):
        request = WatchRequest(cluster=ClusterRequest(source=ClusterSource(kubeconfig=live.kubeconfig)))
        until = time.monotonic() + 120
        lines = watch(request, AnalysisHandle(), lambda: len(answered) == 2 or time.monotonic() > until, told.append)
        for group in lines:
            answered |= {line.name for line in group if isinstance(line, PodWaits)}
        ended.set()
    assert answered == {"early", "late"}
    (warning,) = told
    assert problem in warning
    assert warning.startswith("warning: not in the answers: ")
