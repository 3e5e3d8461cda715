"""Matching of selectors with labels of pods that do not exist yet."""

from typing import Any

import pytest

from kschedctl.linter.labels import PodLabels, holds

WEB = {"app": "web", "tier": "$TIER"}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchLabels": {"app": "db"}}, False),
        ({"matchLabels": {"other": "x"}}, False),
        # Not filled in: nobody can tell.
        ({"matchLabels": {"tier": "front"}}, None),
        ({"matchLabels": {"app": "${APP}"}}, None),
        ({"matchLabels": {"app": "db", "tier": "front"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "db"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, False),
        ({"matchExpressions": [{"key": "other", "operator": "NotIn", "values": ["x"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, False),
        # The controller adds it, with a value that nobody knows.
        ({"matchLabels": {"pod-template-hash": "abc"}}, None),
        # What is none is not judged.
        ({"matchLabels": ["app"]}, None),
        ({"matchExpressions": [{"key": "app", "operator": "Like", "values": ["w"]}]}, None),
        ("app=web", None),
    ],
)
def test_selectors_hold_or_not_or_nobody_can_tell(selector: Any, expected: bool | None) -> None:
    assert holds(selector, PodLabels.of(WEB, "apps/Deployment")) is expected


def test_pods_of_a_kind_that_is_not_known_may_have_any_label() -> None:
    assert holds({"matchLabels": {"other": "x"}}, PodLabels.of(WEB, open=True)) is None
    assert holds({"matchLabels": {"other": "x"}}, PodLabels.of({"{{ key }}": "x"})) is None
