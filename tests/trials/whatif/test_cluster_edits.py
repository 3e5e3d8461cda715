"""What-ifs about the cluster as they are written; what they make of a cluster is in ``test_edits.py``."""

from pathlib import Path

import pytest

from kschedctl.common.errors import InputError
from kschedctl.objects.core import Taint
from kschedctl.trials.whatif.cluster_edits import split_source
from kschedctl.trials.whatif.edit import Edit
from kschedctl.trials.whatif.edits import Apply, Cordon, Delete, Drain, FailZone, LabelNode, SetReplicas, TaintNode
from tests.trials.whatif.pods import cases_of

GPU = Taint(key="gpu", value="true", effect="NoSchedule")
READ: dict[type[Edit], dict[str, Edit]] = {
    Cordon: {"node-1": Cordon("node-1"), "gke-*": Cordon("gke-*")},
    Drain: {"node-1": Drain("node-1"), "gke-*": Drain("gke-*")},
    FailZone: {"eu-1a": FailZone("eu-1a")},
    LabelNode: {
        "n:disk=ssd": LabelNode("n", "disk", "ssd"),
        "n:disk-": LabelNode("n", "disk", None),
        "n:a.example/disk=": LabelNode("n", "a.example/disk", ""),
    },
    TaintNode: {
        "n:gpu=true:NoSchedule": TaintNode("n", GPU),
        "n:gpu:NoExecute": TaintNode("n", Taint(key="gpu", effect="NoExecute")),
        "n:gpu=true:NoSchedule-": TaintNode("n", GPU, remove=True),
        "n:gpu-": TaintNode("n", Taint(key="gpu"), remove=True),
    },
    Delete: {
        "pod/web-1": Delete("pod", "web-1", "shop"),
        "Pods/shop/web-1": Delete("Pods", "web-1", "shop"),
        "deployments.apps/web": Delete("deployments.apps", "web", "shop"),
        "no/node-1": Delete("no", "node-1", ""),
    },
    SetReplicas: {
        "deploy/web=9": SetReplicas("deploy", "web", 9, "shop"),
        "sts/shop/db=0": SetReplicas("sts", "db", 0, "shop"),
    },
}
WRONG: dict[type[Edit], dict[str, str]] = {
    LabelNode: {
        "disk=ssd": "does not name a node and a change",
        "a=b:c": "does not name a node and a change",
        "n:disk": "has no value for the label",
        "n:disk-=x": "is not valid here",
        "n:-disk=x": "is not valid here",
        "n:disk=a b": "is not valid here",
    },
    TaintNode: {
        "n:gpu": "has no effect of the taint, such as NoSchedule",
        "n:gpu=true:Sometimes": '"Sometimes" is not a taint effect',
        "n::NoSchedule": "is not valid here",
    },
    Delete: {
        "web-1": "names no object",
        "pod/": "names no object",
        "pod//web": "names no object",
        "pod/a/b/c": "names no object",
        "pot/a": '"pot" is not a kind that kschedctl reads',
        "node/shop/a": "a Node has no namespace",
        "pod/other/web": "names another namespace than -n shop",
    },
    SetReplicas: {
        "deploy/web": "has no number of replicas",
        "deploy/web=-1": "has no number of replicas",
        "web=1": "names no object",
    },
}


@pytest.mark.parametrize(("kind", "text"), cases_of(READ))
def test_what_is_read(kind: type[Edit], text: str) -> None:
    assert kind.parse(text, "shop") == READ[kind][text]


@pytest.mark.parametrize(("kind", "text"), cases_of(WRONG))
def test_what_is_refused(kind: type[Edit], text: str) -> None:
    with pytest.raises(InputError) as caught:
        kind.parse(text, "shop")
    assert WRONG[kind][text] in str(caught.value)


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
