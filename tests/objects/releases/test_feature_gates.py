"""Feature gates on a scheduler's command line: accepted, without effect, or rejected."""

import pytest

from kschedctl.common.errors import UnsupportedError
from kschedctl.objects.releases.feature_gates import idle_gates, known_gates
from kschedctl.objects.releases.release import RELEASES

MODELLED = {"PodLevelResources": True}


@pytest.mark.parametrize(
    ("version", "gates", "idle"),
    [
        pytest.param("1.36", {"PodLevelResources": False}, (), id="a modelled gate takes effect"),
        pytest.param("1.34", {"SchedulerQueueingHints": True}, (), id="a locked gate set to what it is"),
        pytest.param("1.36", {"SchedulerAsyncPreemption": False}, ("SchedulerAsyncPreemption",), id="how it preempts"),
        pytest.param("1.36", {"SchedulerAsyncPreemption": True}, (), id="a default that is spelled out"),
        pytest.param("1.36", {"WatchListClient": False}, ("WatchListClient",), id="how it watches"),
        pytest.param(
            "1.36", {"CPUManagerPolicyAlphaOptions": True}, ("CPUManagerPolicyAlphaOptions",), id="of the kubelet"
        ),
        pytest.param("1.36", {"DRAConsumableCapacity": True}, (), id="a default of what is not modelled"),
        pytest.param("1.36", {"AllAlpha": False}, (), id="alpha features stay off"),
    ],
)
def test_gates_that_are_taken(version: str, gates: dict[str, bool], idle: tuple[str, ...]) -> None:
    assert idle_gates(version, gates, MODELLED) == idle


@pytest.mark.parametrize(
    ("version", "gates", "problem"),
    [
        pytest.param(
            "1.36",
            {"SchedulerAsyncPremption": True},
            "unrecognized feature gate: SchedulerAsyncPremption\n  did you mean SchedulerAsyncPreemption?",
            id="a slip of the pen",
        ),
        pytest.param(
            "1.34",
            {"NodeDeclaredFeatures": True},
            "unrecognized feature gate: NodeDeclaredFeatures\n  Kubernetes 1.34 has no such gate",
            id="a gate of a later release",
        ),
        pytest.param(
            "1.34",
            {"SchedulerQueueingHints": False},
            "cannot set feature gate SchedulerQueueingHints to false, feature is locked to true",
            id="a gate that is locked",
        ),
        pytest.param(
            "1.36",
            {"TaintTolerationComparisonOperators": True},
            "feature gate TaintTolerationComparisonOperators is not modelled for Kubernetes 1.36\n"
            "  it would change decisions; modelled gates: PodLevelResources",
            id="a gate that would change decisions",
        ),
        pytest.param(
            "1.33",
            {"DynamicResourceAllocation": True},
            "feature gate DynamicResourceAllocation is not modelled for Kubernetes 1.33\n"
            "  it would change decisions; modelled gates: PodLevelResources",
            id="devices before they were there by default",
        ),
        pytest.param(
            "1.36",
            {"AllBeta": False},
            "feature gate AllBeta is not modelled for Kubernetes 1.36\n"
            "  it would change decisions; modelled gates: PodLevelResources",
            id="a gate that sets others",
        ),
    ],
)
def test_gates_that_are_refused(version: str, gates: dict[str, bool], problem: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        idle_gates(version, gates, MODELLED)
    assert str(caught.value) == problem


def test_every_release_has_its_own() -> None:
    counts = {version: len(known_gates(version)) for version in RELEASES}
    assert counts == {"1.33": 191, "1.34": 208, "1.35": 218, "1.36": 241, "1.37": 253, "1.38": 242}
