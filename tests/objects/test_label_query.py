"""Label selectors as kubectl takes them."""

from __future__ import annotations

import pytest

from kschedctl.common.errors import InputError
from kschedctl.objects.label_query import parse_label_query
from kschedctl.objects.selectors import matches

LABELS = {"app": "web", "tier": "front", "empty": ""}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("app=web", True),
        ("app==web", True),
        ("app = web , tier = front", True),
        ("app!=web", False),
        ("other!=web", True),
        ("app in (web, api)", True),
        ("app notin (web,api)", False),
        ("app in (api),tier=front", False),
        ("app", True),
        ("!app", False),
        ("!other", True),
        ("empty=", True),
        ("app=", False),
    ],
)
def test_selects(text: str, found: bool) -> None:
    assert matches(parse_label_query(text), LABELS) is found


@pytest.mark.parametrize("text", ["app in", "app in (", "=web", "a=b=c", "app=we b", "-app", "app>5", ",", "app=web,"])
def test_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a label selector"):
        parse_label_query(text)
