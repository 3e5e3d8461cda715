"""What-ifs about the cluster as they are written; what they make of a cluster is in ``test_edits.py``."""

from pathlib import Path

import pytest

from kschedctl.common.errors import InputError
from kschedctl.objects.core import Taint
from kschedctl.trials.whatif.cluster_edits import split_source
from kschedctl.trials.whatif.edits import Apply, Cordon, Delete, Drain, FailZone, LabelNode, SetReplicas, TaintNode

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


APPLY_READ = {"a*b.yaml": ("a*b.yaml", None), "-*2": ("-", 2), "a*2*3": ("a*2", 3)}
MANIFEST = """
apiVersion: v1
kind: Node
metadata: {name: a}
---
apiVersion: v1
kind: Service
metadata: {name: web}
"""


@pytest.mark.parametrize("text", APPLY_READ)
def test_apply_what_is_read(text: str) -> None:
    assert split_source(text) == APPLY_READ[text]
    assert Apply.sources(text) == (APPLY_READ[text][0],)


def test_copies_that_cannot_be_made_are_refused() -> None:
    with pytest.raises(InputError, match="0 copies cannot be made"):
        Apply.parse("a*0")


def test_the_objects_of_the_file_are_in_the_namespace_of_the_command(tmp_path: Path) -> None:
    file = tmp_path / "objects.yaml"
    file.write_text(MANIFEST)
    edit = Apply.parse(f"{file}*2", "shop")
    assert [(obj.name, obj.namespace) for obj, _ in edit.objects] == [("a", ""), ("web", "shop")]
    assert (edit.copies, str(edit)) == (2, f"apply {file}*2")


DELETE_READ = {
    "pod/web-1": Delete("pod", "web-1", "shop"),
    "Pods/shop/web-1": Delete("Pods", "web-1", "shop"),
    "deployments.apps/web": Delete("deployments.apps", "web", "shop"),
    "no/node-1": Delete("no", "node-1", ""),
}
DELETE_WRONG = {
    "web-1": "names no object",
    "pod/": "names no object",
    "pod//web": "names no object",
    "pod/a/b/c": "names no object",
    "pot/a": '"pot" is not a kind that kschedctl reads',
    "node/shop/a": "a Node has no namespace",
    "pod/other/web": "names another namespace than -n shop",
}


@pytest.mark.parametrize("text", DELETE_READ)
def test_delete_what_is_read(text: str) -> None:
    assert Delete.parse(text, "shop") == DELETE_READ[text]


@pytest.mark.parametrize("text", DELETE_WRONG)
def test_delete_what_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        Delete.parse(text, "shop")
    assert DELETE_WRONG[text] in str(caught.value)


SET_REPLICAS_READ = {
    "deploy/web=9": SetReplicas("deploy", "web", 9, "shop"),
    "sts/shop/db=0": SetReplicas("sts", "db", 0, "shop"),
}
SET_REPLICAS_WRONG = {
    "deploy/web": "has no number of replicas",
    "deploy/web=-1": "has no number of replicas",
    "web=1": "names no object",
}


@pytest.mark.parametrize("text", SET_REPLICAS_READ)
def test_set_replicas_what_is_read(text: str) -> None:
    assert SetReplicas.parse(text, "shop") == SET_REPLICAS_READ[text]


@pytest.mark.parametrize("text", SET_REPLICAS_WRONG)
def test_set_replicas_what_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        SetReplicas.parse(text, "shop")
    assert SET_REPLICAS_WRONG[text] in str(caught.value)
