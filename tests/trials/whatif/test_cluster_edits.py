"""``--cordon`` as it is written; what it makes of a cluster is in ``tests/trials/whatif/test_editing.py``."""

import pytest

from kschedctl.common.errors import InputError
from kschedctl.objects.core import Taint
from kschedctl.trials.whatif.edits import Cordon, Drain, FailZone, LabelNode, TaintNode

READ = {"node-1": Cordon("node-1"), "gke-*": Cordon("gke-*")}


@pytest.mark.parametrize("text", READ)
def test_what_is_read(text: str) -> None:
    assert Cordon.parse(text, "shop") == READ[text]


DRAIN_READ = {"node-1": Drain("node-1"), "gke-*": Drain("gke-*")}


@pytest.mark.parametrize("text", DRAIN_READ)
def test_drain_what_is_read(text: str) -> None:
    assert Drain.parse(text, "shop") == DRAIN_READ[text]


FAIL_ZONE_READ = {"eu-1a": FailZone("eu-1a")}


@pytest.mark.parametrize("text", FAIL_ZONE_READ)
def test_fail_zone_what_is_read(text: str) -> None:
    assert FailZone.parse(text, "shop") == FAIL_ZONE_READ[text]


LABEL_READ = {
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


@pytest.mark.parametrize("text", LABEL_READ)
def test_label_what_is_read(text: str) -> None:
    assert LabelNode.parse(text, "shop") == LABEL_READ[text]


@pytest.mark.parametrize("text", WRONG)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        LabelNode.parse(text, "shop")
    assert WRONG[text] in str(caught.value)


GPU = Taint(key="gpu", value="true", effect="NoSchedule")

TAINT_READ = {
    "n:gpu=true:NoSchedule": TaintNode("n", GPU),
    "n:gpu:NoExecute": TaintNode("n", Taint(key="gpu", effect="NoExecute")),
    "n:gpu=true:NoSchedule-": TaintNode("n", GPU, remove=True),
    "n:gpu-": TaintNode("n", Taint(key="gpu"), remove=True),
}
TAINT_WRONG = {
    "n:gpu": "has no effect of the taint, such as NoSchedule",
    "n:gpu=true:Sometimes": '"Sometimes" is not a taint effect',
    "n::NoSchedule": "is not valid here",
}


@pytest.mark.parametrize("text", TAINT_READ)
def test_taint_what_is_read(text: str) -> None:
    assert TaintNode.parse(text, "shop") == TAINT_READ[text]


@pytest.mark.parametrize("text", TAINT_WRONG)
def test_taint_what_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        TaintNode.parse(text, "shop")
    assert TAINT_WRONG[text] in str(caught.value)
