from __future__ import annotations

from kschedctl.framework.cycle_state import CycleState
from kschedctl.framework.extension_point import ExtensionPoint
from kschedctl.framework.interface import BindPlugin
from kschedctl.framework.status import Status
from kschedctl.scheduler.scheduler import Scheduler
from tests.builders import make_cluster, make_node, make_pod


def test_every_binding_is_accepted() -> None:
    framework = Scheduler(make_cluster([make_node()])).framework("default-scheduler")
    (plugin,) = framework.plugins(ExtensionPoint.BIND, BindPlugin)
    assert plugin.name == "DefaultBinder"
    assert plugin.bind(CycleState(), make_pod(), "node") == Status()
