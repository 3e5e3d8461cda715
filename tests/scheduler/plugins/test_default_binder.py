from __future__ import annotations

from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import BindPlugin
from kschedctl.scheduler.framework.status import Status
from tests.builders import make_cluster, make_node, make_pod


def test_every_binding_is_accepted() -> None:
    framework = Scheduler(make_cluster([make_node()])).framework("default-scheduler")
    (plugin,) = framework.plugins(ExtensionPoint.BIND, BindPlugin)
    assert plugin.name == "DefaultBinder"
    assert plugin.bind(CycleState(), make_pod(), "node") == Status()
