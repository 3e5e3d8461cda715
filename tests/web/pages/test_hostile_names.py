"""Names from a cluster and from requests stay text: in elements, attributes and addresses."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import html5lib
import lxml.html
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.common.errors import KschedctlError
from kschedctl.common.text.characters import is_invisible
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.web.pages.forms import tried_page
from kschedctl.web.pages.objects import list_page, object_page, overview_page, pod_page, search_page
from kschedctl.web.pages.sheet import framed, problem_page
from kschedctl.web.pages.visit import ServerState, Visit, path_of
from tests.builders import load_engine

_NASTY = (
    "<script>alert(1)<!--", "<b onclick=x>", "</textarea>", "'", '"', "&lt;", "javascript:alert(1)", "{{ 7*7 }}",
    "%2e%2e", "//evil", "?a=b#c", "&cordon=x", " onclick=x ", "\u202e", "\u200b", "\x00", "\x1b[31m",
    "\x9b", "\n", "web", "-1",
)  # fmt: skip
names = st.lists(st.sampled_from(_NASTY), min_size=1, max_size=4).map("".join)


def _objects(name: str) -> list[dict[str, Any]]:
    container = {"name": name, "image": name, "resources": {"requests": {"cpu": "1"}}}
    metadata = {"name": name, "labels": {name: name, "topology.kubernetes.io/zone": name}}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": name, "controller": True}
    pods = [
        {"metadata": {**metadata, "namespace": name, "ownerReferences": [owner]}, "spec": {"containers": [container]}},
        {
            "metadata": {**metadata, "name": f"{name}b", "namespace": name},
            "spec": {"containers": [container], "nodeName": name},
        },
    ]
    taint = {"key": name, "value": name, "effect": "NoSchedule"}
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    node = {"metadata": metadata, "spec": {"taints": [taint]}, "status": {"allocatable": amounts, "capacity": amounts}}
    budget = {
        "metadata": {"name": name, "namespace": name},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {name: name}}},
    }
    return [
        {"apiVersion": "v1", "kind": "Node", **node},
        *({"apiVersion": "v1", "kind": "Pod", **pod} for pod in pods),
        {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", **budget},
    ]


def _pages(name: str) -> Iterator[str]:
    """Yield pages about a cluster and for a request that have the name everywhere."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cluster.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": _objects(name)}))
        try:
            cluster = load_engine(path)
        except KschedctlError as error:
            # A name cannot contain parts of addresses or of templates.
            yield problem_page(422, "", [("", "", line, "") for line in error.lines()])
            return
    server = ServerState(name=name, live=True, problem=name)

    def visit(path: str, values: tuple[tuple[str, str], ...] = (), **in_path: str) -> Visit:
        return Visit(server=server, path=quote(path), names=in_path, values=values)

    what_if = (("tolerate", f"{name}=x:NoSchedule"),)
    handle = AnalysisHandle()
    yield overview_page(cluster, visit("/"), handle)
    yield list_page(cluster, visit("/pods", (("q", name),)), "show_pods", name, ("namespace", "q"), "Pod", handle)
    yield list_page(cluster, visit("/budgets"), "show_budgets", "", ("q",), "PodDisruptionBudget", handle)
    yield search_page(cluster, visit("/search", (("q", name[:253]),)), handle)
    if len(cluster.nodes):
        yield object_page(cluster, visit("/nodes/x", name=name), "show_node", "Node {name}", True, handle)
    if (name, name) in cluster.pods.index:
        try:
            yield pod_page(cluster, visit("/pods/x/x", namespace=name, name=name), handle)
        except KschedctlError as error:
            # Admission refuses such names.
            yield problem_page(422, "", [("", "", line, "") for line in error.lines()])
    yield tried_page(cluster, visit("/try"), json.dumps(_objects(name)[1]), handle)
    yield problem_page(400, name, [(name, name, name, name)], path=f"/{name}", query=name.encode())
    yield problem_page(400, "", [("", "", name, "")], path="/", query=f"{what_if[0][0]}={quote(name)}".encode())
    yield problem_page(400, "", [], path="/", query=f"{quote(name)}={quote(name)}".encode())


@given(name=names)
def test_names_stay_text(name: str) -> None:
    for text in _pages(name):
        assert not [character for character in set(text) - {"\n", "\t"} if is_invisible(character)]
        root = lxml.html.document_fromstring(text)
        assert [each.get("src") for each in root.iter("script")] == ["/static/script.js", "/static/serve.js"]
        assert not root.xpath("//iframe | //object | //embed | //base | //*[@onclick] | //*[@style]")
        for attribute in ("href", "action", "src"):
            for address in root.xpath(f"//@{attribute}"):
                assert address.startswith(("/", "#")) or address == "data:,"
                assert not address.startswith("//")


@pytest.mark.parametrize("name", [each for each in _NASTY if each not in ("\x00", "\x9b")], ids=ascii)
def test_forms_send_back_what_was_sent(name: str) -> None:
    visit = Visit(server=ServerState(name="prod"), path="/pods", values=((f"q{name}", f"a{name}"),))
    root = html5lib.parse(framed("jobs.html.j2", visit, title="Jobs", jobs=()), namespaceHTMLElements=False)
    hidden = [(each.get("name"), each.get("value")) for each in root.iter("input") if each.get("type") == "hidden"]
    assert hidden == [(f"q{name}", f"a{name}")]


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        (("pods", "shop", "web"), "/pods/shop/web"),
        (("pods", "a b", "c?d#e&f"), "/pods/a%20b/c%3Fd%23e%26f"),
        (("nodes", "é%"), "/nodes/%C3%A9%25"),
        (("nodes", ".."), ""),
        (("nodes", "."), ""),
        (("nodes", ""), ""),
        (("nodes", "a/b"), ""),
    ],
)
def test_a_path_leads_to_its_object_alone(parts: tuple[str, ...], path: str) -> None:
    assert path_of(*parts) == path
