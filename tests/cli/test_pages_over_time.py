"""``-o html`` of the commands that simulate, compare and watch elections: the answer, the charts and every table."""

import json
import shlex
from pathlib import Path

import lxml.html
import pytest

from tests.cli.in_process import Printed, run
from tests.cli.transcript import make_room

SHOP = "--snapshot shop"
VIABLE = "optimum/viable-by-preemption"
MAP = "Map of the nodes"
TIMELINE = "Pods over time"
SHARES = "Requested share of allocatable"


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("room")
    make_room(folder)
    return folder


def printed(command: str, form: str, room: Path, columns: int = 0) -> Printed:
    return run(*shlex.split(command), "-o", form, columns=columns, folder=room)


@pytest.mark.parametrize(
    ("command", "captions"),
    [
        (f"simulate {SHOP}", [TIMELINE, MAP, SHARES]),
        (f"drain node-1 node-2 --ignore-daemonsets --rolling --surge 1 {SHOP}", [TIMELINE, MAP, SHARES]),
        (f"drain node-7 {SHOP}", [MAP]),
        ("rollout -f web-in-place.yaml --snapshot rollout.yaml", [TIMELINE, "Available pods after each step", MAP]),
        ("rollout deploy/web -n shop --snapshot rollout.yaml", [TIMELINE, "Available pods after each step"]),
        ("optimum optimum/greed/waiting.yaml --snapshot optimum/greed/cluster.yaml", [MAP, "Placed pods by zone"]),
        (f"optimum --minimize nodes {SHOP}", [MAP]),
        (f"optimum {VIABLE}/waiting.yaml --snapshot {VIABLE}/cluster.yaml --buy {VIABLE}/catalog.yaml", [MAP]),
        ("sweep sweep.yaml", []),
        ("leader --snapshot elections.yaml", ["Leases at the time of the snapshot"]),
        ("leader simulate --crash 20s --no-release", ["Leaders over time"]),
        (f"diff -A {SHOP} --drain node-8", ["Compared pods", MAP, "Pods that change, by zone"]),
        (
            f"diff -A --all-pods {SHOP} --kubernetes-version 1.34 --against-version 1.36",
            ["Compared pods", "Changes", MAP],
        ),
        (f"diff web-7 -n shop {SHOP} --cordon node-5", [MAP]),
        ("verify --snapshot changed.json", ["Comparison with kube-scheduler"]),
        (f"verify {SHOP}", ["Comparison with kube-scheduler"]),
        ("snapshot info shop", []),
        ("rule KS401", []),
    ],
)
def test_pages(command: str, captions: list[str], room: Path) -> None:
    html, answer = (printed(command, form, room) for form in ("html", "json"))
    assert (html.code, html.err) == (answer.code, answer.err)
    page = lxml.html.document_fromstring(html.out)
    assert [caption.text_content() for caption in page.cssselect("figcaption")] == captions
    (title,) = page.cssselect("h1")
    summary = json.loads(answer.out).get("summary")
    assert summary is None or summary == title.text_content()
    identifiers = page.xpath("//@id")
    assert len(set(identifiers)) == len(identifiers)


@pytest.mark.parametrize(
    "command",
    [
        f"simulate {SHOP}",
        f"drain node-1 --ignore-daemonsets {SHOP}",
        "rollout -f web-in-place.yaml --snapshot rollout.yaml",
        f"optimum --minimize nodes {SHOP}",
        "leader --snapshot elections.yaml",
        f"diff -A {SHOP} --drain node-8",
        "verify --snapshot changed.json",
    ],
)
def test_pages_contain_every_word_of_the_text(command: str, room: Path) -> None:
    page = lxml.html.document_fromstring(printed(command, "html", room).out)
    words = {word.rstrip(":") for word in " ".join(page.xpath("//main//text()")).split()}
    text = printed(command, "wide", room, columns=400).out
    assert [word for word in text.split() if word.rstrip(":") not in words | {"·"}] == []


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("batch cases.jsonl", "No such option: -o"),
        ("watch", '"html" is not an output format of this command: use jsonl'),
    ],
)
def test_streams_of_lines_have_no_page(command: str, error: str, room: Path) -> None:
    refused = printed(command, "html", room)
    assert refused.code == 2
    assert error in refused.err
