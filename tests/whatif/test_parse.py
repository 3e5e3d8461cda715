"""Changes as they are written on a command line."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kschedctl.api.core import Taint
from kschedctl.errors import InputError
from kschedctl.whatif.edits import Delete, LabelNode, SetReplicas, TaintNode
from kschedctl.whatif.parse import parse_delete, parse_label, parse_replicas, parse_source, parse_taint

GPU = Taint(key="gpu", value="true", effect="NoSchedule")

READ = [
    (parse_source, "a*b.yaml", ("a*b.yaml", None)),
    (parse_source, "-*2", ("-", 2)),
    (parse_source, "a*2*3", ("a*2", 3)),
    (parse_delete, "pod/web-1", Delete("pod", "web-1", "shop")),
    (parse_delete, "Pods/shop/web-1", Delete("Pods", "web-1", "shop")),
    (parse_delete, "deployments.apps/web", Delete("deployments.apps", "web", "shop")),
    (parse_delete, "no/node-1", Delete("no", "node-1", "")),
    (parse_replicas, "sts/shop/db=0", SetReplicas("sts", "db", 0, "shop")),
    (parse_label, "n:a.example/disk=", LabelNode("n", "a.example/disk", "")),
    (parse_taint, "n:gpu=true:NoSchedule", TaintNode("n", GPU)),
    (parse_taint, "n:gpu:NoExecute", TaintNode("n", Taint(key="gpu", effect="NoExecute"))),
    (parse_taint, "n:gpu=true:NoSchedule-", TaintNode("n", GPU, remove=True)),
    (parse_taint, "n:gpu-", TaintNode("n", Taint(key="gpu"), remove=True)),
]
WRONG = [
    (parse_source, "a*0", "0 copies cannot be made"),
    (parse_delete, "web-1", "names no object"),
    (parse_delete, "pod/", "names no object"),
    (parse_delete, "pod//web", "names no object"),
    (parse_delete, "pod/a/b/c", "names no object"),
    (parse_delete, "pot/a", '"pot" is not a kind that scheduling reads'),
    (parse_delete, "node/shop/a", "a Node is in no namespace"),
    (parse_delete, "pod/other/web", "of another namespace than -n shop"),
    (parse_replicas, "deploy/web", "how many replicas"),
    (parse_replicas, "deploy/web=-1", "how many replicas"),
    (parse_label, "disk=ssd", "which node and what"),
    (parse_label, "a=b:c", "which node and what"),
    (parse_label, "n:disk", "gives the label no value"),
    (parse_label, "n:disk-=x", "cannot be written there"),
    (parse_label, "n:-disk=x", "cannot be written there"),
    (parse_label, "n:disk=a b", "cannot be written there"),
    (parse_taint, "n:gpu", "gives the taint no effect"),
    (parse_taint, "n:gpu=true:Sometimes", '"Sometimes" is not an effect'),
    (parse_taint, "n::NoSchedule", "cannot be written there"),
]


def read(parse: Callable[..., object], text: str) -> object:
    return parse(text, "shop") if parse in (parse_delete, parse_replicas) else parse(text)


@pytest.mark.parametrize(("parse", "text", "expected"), READ, ids=[text for _, text, _ in READ])
def test_what_is_read(parse: Callable[..., object], text: str, expected: object) -> None:
    assert read(parse, text) == expected


@pytest.mark.parametrize(("parse", "text", "message"), WRONG, ids=[text for _, text, _ in WRONG])
def test_what_is_refused(parse: Callable[..., object], text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(parse, text)
    assert message in str(caught.value)
