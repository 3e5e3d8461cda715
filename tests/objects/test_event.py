"""Events in both API groups have one form, and only those that say something are kept."""

from typing import Any

import msgspec
import pytest

from kschedctl.objects.event import Event

ABOUT = {"kind": "Pod", "namespace": "shop", "name": "web-1"}
CORE = {"involvedObject": ABOUT, "message": "no room", "source": {"component": "kubelet"}, "count": 4}
NEW = {"regarding": ABOUT, "note": "no room", "reportingController": "kubelet", "deprecatedCount": 4}
LATE, EARLY = "2026-11-20T09:58:00Z", "2026-11-20T09:00:00Z"


def event(**fields: Any) -> Event:
    return msgspec.convert({"type": "Warning", "reason": "Failed", **fields}, Event)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({**CORE, "lastTimestamp": LATE}, id="core"),
        pytest.param({**CORE, "lastTimestamp": LATE, "eventTime": EARLY}, id="the last time counts"),
        pytest.param({**NEW, "deprecatedLastTimestamp": LATE}, id="events.k8s.io"),
        pytest.param({**NEW, "eventTime": LATE}, id="seen once"),
        pytest.param({**NEW, "eventTime": EARLY, "series": {"lastObservedTime": LATE, "count": 2}}, id="series"),
        pytest.param(
            {**NEW, "reportingController": "", "reportingComponent": "kubelet", "eventTime": LATE}, id="reporter"
        ),
        pytest.param({**CORE, "deprecatedSource": {"component": "x"}, "eventTime": LATE}, id="own source first"),
    ],
)
def test_both_groups_have_one_form(fields: dict[str, Any]) -> None:
    short = event(**fields).short()
    assert (short.name, short.namespace) == ("Pod/web-1/kubelet", "shop")
    assert (short.message, short.source.component, short.reason, short.count) == ("no room", "kubelet", "Failed", 4)
    assert f"{short.seen:%H:%M}" == "09:58"
    assert short.short() == short


@pytest.mark.parametrize(
    ("type_", "reason", "telling"),
    [
        ("Warning", "BackOff", True),
        ("Normal", "Pulled", False),
        ("Normal", "NotTriggerScaleUp", True),
        ("Normal", "TriggeredScaleUp", True),
    ],
)
def test_which_say_something(type_: str, reason: str, telling: bool) -> None:
    assert event(type=type_, reason=reason).is_telling == telling
