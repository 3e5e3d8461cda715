"""The operands behind the reasons of recorded cases."""

from collections.abc import Iterator

import pytest

from conformance.recordings import cases, our_decision
from kschedctl.objects.releases.release import LATEST
from kschedctl.scheduler.framework.status import Reason
from kschedctl.scheduler.plugins.node_affinity import REASON_ENFORCED
from tests.builders import told


def reasons_in(theme: str) -> Iterator[tuple[str, Reason]]:
    """Yield every reason for a rejection in a theme, with its plugin."""
    for case in cases(theme):
        decision = our_decision(case, LATEST)
        for row in range(len(decision.cluster.nodes)) if decision.statuses is not None else ():
            for plugin, reasons in decision.verdict(row).reasons:
                for reason in reasons:
                    yield plugin, reason


VOLUME_PLUGINS = {"VolumeBinding", "VolumeRestrictions", "VolumeZone", "NodeVolumeLimits"}
OTHER_PLUGINS = {
    "DynamicResources",
    "InterPodAffinity",
    "NodeAffinity",
    "NodeDeclaredFeatures",
    "NodePorts",
    "NodeResourcesFit",
    "NodeUnschedulable",
    "PodTopologySpread",
    "TaintToleration",
}
#: A profile's own affinity, claims that cannot be looked up, and errors in the search for devices are said in the
#: scheduler's words alone.
WITHOUT = (REASON_ENFORCED, "PVC ", "looking up PVC ", "claim ", "class ")


@pytest.mark.parametrize(
    ("theme", "plugins"),
    [
        pytest.param("mixed", VOLUME_PLUGINS | OTHER_PLUGINS, id="mixed"),
        pytest.param("volumes", VOLUME_PLUGINS, id="volumes"),
        pytest.param("devices", {"DynamicResources", "NodeResourcesFit", "TaintToleration"}, id="devices"),
    ],
)
def test_every_reason_is_made_of_operands(theme: str, plugins: set[str]) -> None:
    seen = set()
    for plugin, reason in reasons_in(theme):
        if reason.operands is None:
            assert reason.text.startswith(WITHOUT), f"{plugin}: {reason.text}"
            assert (reason.detail, reason.data) == ("", {})
        else:
            assert (reason.detail, reason.data) == told(reason.operands)
            seen.add(plugin)
    assert seen == plugins
