"""``--label`` as it is written; what it makes of a cluster is in ``tests/trials/whatif/test_editing.py``."""

from __future__ import annotations

import pytest

from kschedctl.common.errors import InputError
from kschedctl.trials.whatif.edits import LabelNode

READ = {
    "n:disk=ssd": LabelNode("n", "disk", "ssd"),
    "n:disk-": LabelNode("n", "disk", None),
    "n:a.example/disk=": LabelNode("n", "a.example/disk", ""),
}
WRONG = {
    "disk=ssd": "does not name a node and a change",
    "a=b:c": "does not name a node and a change",
    "n:disk": "has no value for the label",
    "n:disk-=x": "is not valid here",
    "n:-disk=x": "is not valid here",
    "n:disk=a b": "is not valid here",
}


@pytest.mark.parametrize("text", READ)
def test_what_is_read(text: str) -> None:
    assert LabelNode.parse(text, "shop") == READ[text]


@pytest.mark.parametrize("text", WRONG)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        LabelNode.parse(text, "shop")
    assert WRONG[text] in str(caught.value)
