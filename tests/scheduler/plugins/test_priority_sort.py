from __future__ import annotations

from datetime import UTC, datetime, timedelta

from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import QueueSortPlugin
from tests.builders import make_cluster, make_pod

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(seconds=1)


def test_higher_priority_goes_first_then_the_earlier() -> None:
    framework = Scheduler(make_cluster()).framework("default-scheduler")
    (plugin,) = framework.plugins(ExtensionPoint.QUEUE_SORT, QueueSortPlugin)
    queue = [
        (make_pod("low-late", priority=-5), LATER),
        (make_pod("low", priority=-5), NOW),
        (make_pod("none-late", priority=0), LATER),
        (make_pod("high", priority=1000), LATER),
        (make_pod("none", priority=0), NOW),
    ]
    ordered = sorted(queue, key=lambda entry: plugin.sort_key(*entry))
    assert [pod.name for pod, _ in ordered] == ["high", "none", "none-late", "low", "low-late"]
