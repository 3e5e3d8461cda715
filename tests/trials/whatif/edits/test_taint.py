"""``--taint`` as it is written; what it makes of a cluster is in ``tests/trials/whatif/test_editing.py``."""

from __future__ import annotations

import pytest

from kschedctl.common.errors import InputError
from kschedctl.objects.core import Taint
from kschedctl.trials.whatif.edits import TaintNode

GPU = Taint(key="gpu", value="true", effect="NoSchedule")

READ = {
    "n:gpu=true:NoSchedule": TaintNode("n", GPU),
    "n:gpu:NoExecute": TaintNode("n", Taint(key="gpu", effect="NoExecute")),
    "n:gpu=true:NoSchedule-": TaintNode("n", GPU, remove=True),
    "n:gpu-": TaintNode("n", Taint(key="gpu"), remove=True),
}
WRONG = {
    "n:gpu": "has no effect of the taint, such as NoSchedule",
    "n:gpu=true:Sometimes": '"Sometimes" is not a taint effect',
    "n::NoSchedule": "is not valid here",
}


@pytest.mark.parametrize("text", READ)
def test_what_is_read(text: str) -> None:
    assert TaintNode.parse(text, "shop") == READ[text]


@pytest.mark.parametrize("text", WRONG)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        TaintNode.parse(text, "shop")
    assert WRONG[text] in str(caught.value)
