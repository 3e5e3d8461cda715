"""``--label`` as it is written; what it makes of a cluster is in ``tests/whatif/test_editing.py``."""

from __future__ import annotations

import pytest

from kschedctl.errors import InputError
from kschedctl.whatif.edits import LabelNode

READ = {
    "n:disk=ssd": LabelNode("n", "disk", "ssd"),
    "n:disk-": LabelNode("n", "disk", None),
    "n:a.example/disk=": LabelNode("n", "a.example/disk", ""),
}
WRONG = {
    "disk=ssd": "which node and what",
    "a=b:c": "which node and what",
    "n:disk": "gives the label no value",
    "n:disk-=x": "cannot be written there",
    "n:-disk=x": "cannot be written there",
    "n:disk=a b": "cannot be written there",
}


@pytest.mark.parametrize("text", READ)
def test_what_is_read(text: str) -> None:
    assert LabelNode.parse(text, "shop") == READ[text]


@pytest.mark.parametrize("text", WRONG)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        LabelNode.parse(text, "shop")
    assert WRONG[text] in str(caught.value)
