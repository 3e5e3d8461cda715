"""``--node-selector``: as it is written, and what it makes of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.common.errors import InputError
from kschedctl.trials.whatif.edits import SetNodeSelector
from tests.trials.whatif.pods import edited_spec

READ = {
    "disk=ssd": SetNodeSelector("disk", "ssd"),
    "a.example/disk=": SetNodeSelector("a.example/disk", ""),
    "disk-": SetNodeSelector("disk", None),
}
WRONG = {
    "disk": "has no value for the nodeSelector entry\n  KEY=VALUE sets an entry",
    "disk=a b": '"a b" is not valid here',
    "disk-=ssd": '"disk-" is not valid here',
    "=ssd": "is not valid here",
}
MADE: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "added": ("disk=ssd", {"nodeSelector": {"arch": "arm"}}, {"nodeSelector": {"arch": "arm", "disk": "ssd"}}),
    "changed": ("disk=ssd", {"nodeSelector": {"disk": "hdd"}}, {"nodeSelector": {"disk": "ssd"}}),
    "taken away": ("disk-", {"nodeSelector": {"disk": "ssd"}}, {"nodeSelector": None}),
    "not there": ("disk-", {"nodeSelector": {"arch": "arm"}}, {"nodeSelector": {"arch": "arm"}}),
}


@pytest.mark.parametrize("text", READ)
def test_what_is_read(text: str) -> None:
    assert SetNodeSelector.parse(text) == READ[text]
    assert str(SetNodeSelector.parse(text)) == f"node selector {text}"


@pytest.mark.parametrize("text", WRONG)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        SetNodeSelector.parse(text)
    assert str(caught.value).startswith("--node-selector: ")
    assert WRONG[text] in str(caught.value)


@pytest.mark.parametrize("case", MADE)
def test_what_a_pod_is_afterwards(case: str) -> None:
    text, before, after = MADE[case]
    found = edited_spec(before, SetNodeSelector.parse(text))
    assert {key: found.get(key) for key in after} == after
