"""The DefaultTolerationSeconds admission plugin by table."""

from __future__ import annotations

import pytest

from kschedctl.controllers.admission.default_toleration_seconds import admit_tolerations
from kschedctl.objects.pod import Pod, PodSpec, Toleration

NOT_READY = Toleration("node.kubernetes.io/not-ready", "Exists", "", "NoExecute", 300)
UNREACHABLE = Toleration("node.kubernetes.io/unreachable", "Exists", "", "NoExecute", 300)
OWN = Toleration("node.kubernetes.io/not-ready", "Exists", "", "NoExecute", 5)
OTHER_EFFECT = Toleration("node.kubernetes.io/not-ready", "Exists", "", "NoSchedule")
EVERYTHING = Toleration("", "Exists")


@pytest.mark.parametrize(
    ("given", "added"),
    [
        pytest.param((), (NOT_READY, UNREACHABLE), id="a pod without tolerations"),
        pytest.param((OWN,), (UNREACHABLE,), id="a pod that says how long it stays"),
        pytest.param((OTHER_EFFECT,), (NOT_READY, UNREACHABLE), id="a toleration of another effect does not count"),
        pytest.param((EVERYTHING,), (), id="a pod that tolerates everything"),
        pytest.param((UNREACHABLE, NOT_READY), (), id="a pod that was admitted before"),
    ],
)
def test_added(given: tuple[Toleration, ...], added: tuple[Toleration, ...]) -> None:
    admitted = admit_tolerations(Pod(spec=PodSpec(tolerations=given)))
    assert admitted.spec.tolerations == (*given, *added)
