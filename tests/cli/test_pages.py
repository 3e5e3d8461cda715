"""``-o html`` of each command: the answer is the title, the charts are there, and so is every text of the tables."""

import json
import re
import shlex
from pathlib import Path

import lxml.html
import pytest

from tests.cli.in_process import Printed, run
from tests.cli.transcript import make_room

SHOP = ("--snapshot", "fixtures/shop/cluster")
MAP = "Map of the nodes"
#: Headings of tables of which the page has charts.
REPLACED = ("other candidates", "lost at")


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("command", "captions"),
    [
        (("explain", "shop/search-3", *SHOP), [MAP, "Resources of node-8"]),
        (
            ("explain", "-f", "fixtures/shop/manifests/checkout.yaml", *SHOP),
            [MAP, "Matching pods by topology.kubernetes.io/zone, maxSkew 1", "Resources of node-8", "Scores by plugin"],
        ),
        (("explain", "shop/search-3", "--node", "node-2", "--why", *SHOP), [MAP, "Resources of node-2"]),
        (("preempt", "shop/search-3", *SHOP), [MAP, "Candidates"]),
        (("nodes", *SHOP), [MAP]),
        (("nodes", "node-8", *SHOP), ["Resources of node-8"]),
        (("pending", *SHOP), [MAP]),
        (("pending", "--snapshot", "fixtures/pending/cluster.yaml"), ["Pods by group", MAP]),
        (("capacity", "-f", "fixtures/shop/manifests/checkout.yaml", *SHOP), [MAP]),
        (("capacity", "-A", *SHOP), ["Further copies by workload"]),
        (("volumes", "-A", "--snapshot", "fixtures/volumes/conflict"), ["Claims by storage class"]),
        (("volumes", "shop/figures", "--snapshot", "fixtures/volumes/conflict"), [MAP]),
        (("devices", "--snapshot", "fixtures/devices/cluster"), [MAP, "Devices by pool"]),
        (("devices", "ml/train", "--snapshot", "fixtures/devices/cluster"), [MAP]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_the_page_has_the_answer_and_its_charts(command: tuple[str, ...], captions: list[str]) -> None:
    page = lxml.html.fromstring(run(*command, "-o", "html").out)
    text = run(*command, columns=1000).out
    assert words(page.cssselect("main .lead")[0].text_content()) == words(text.split("\n", 1)[0])
    assert [words(each.text_content()) for each in page.cssselect("figcaption")] == captions
    shown = words(page.text_content())
    for line in text.splitlines():
        # The page has suggested commands of its own, and more than the text without -o wide.
        if not any(part in line for part in ("kschedctl", " · ", "-o wide")):
            missing = [cell for cell in words_of_columns(line) if cell not in shown and cell not in REPLACED]
            assert not missing, line


@pytest.mark.parametrize(
    ("command", "cluster", "states"),
    [
        (("pending", *SHOP), "fixtures/shop/cluster", 1),
        (("snapshot", "info", "fixtures/shop/cluster"), "fixtures/shop/cluster", 1),
        (("diff", *SHOP, "--cordon", "node-8"), "fixtures/shop/cluster", 1),
        (
            ("diff", "-A", *SHOP, "--against", "fixtures/gangs/cluster"),
            "fixtures/shop/cluster and fixtures/gangs/cluster",
            2,
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_the_header_names_cluster_and_state(command: tuple[str, ...], cluster: str, states: int) -> None:
    page = lxml.html.fromstring(run(*command, "-o", "html").out)
    assert [words(each.text_content()) for each in page.cssselect("header .cluster")] == [cluster]
    told = {each[0].text: each[1].text_content() for each in page.cssselect("header dl div")}
    assert told["State"].count("UTC") == states


def words_of_columns(line: str) -> list[str]:
    """Return the texts of a line that two or more spaces separate."""
    return [words(cell) for cell in line.split("  ") if cell.strip()]


OF_SHOP = "--snapshot shop"
VIABLE = "optimum/viable-by-preemption"
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
        (f"simulate {OF_SHOP}", [TIMELINE, MAP, SHARES]),
        (f"drain node-1 node-2 --ignore-daemonsets --rolling --surge 1 {OF_SHOP}", [TIMELINE, MAP, SHARES]),
        (f"drain node-7 {OF_SHOP}", [MAP]),
        ("rollout -f web-in-place.yaml --snapshot rollout.yaml", [TIMELINE, MAP]),
        ("rollout deploy/web -n shop --snapshot rollout.yaml", [TIMELINE]),
        ("optimum optimum/greed/waiting.yaml --snapshot optimum/greed/cluster.yaml", [MAP, "Placed pods by zone"]),
        (f"optimum --minimize nodes {OF_SHOP}", [MAP]),
        (f"optimum {VIABLE}/waiting.yaml --snapshot {VIABLE}/cluster.yaml --buy {VIABLE}/catalog.yaml", [MAP]),
        ("sweep sweep.yaml", []),
        ("leader --snapshot elections.yaml", ["Leases at the time of the snapshot"]),
        ("leader simulate --crash 20s --no-release", ["Leaders over time"]),
        (f"diff -A {OF_SHOP} --drain node-8", ["Compared pods", MAP, "Pods that change, by zone"]),
        (
            f"diff -A --all-pods {OF_SHOP} --kubernetes-version 1.34 --against-version 1.36",
            ["Compared pods", "Changes", MAP],
        ),
        (f"diff web-7 -n shop {OF_SHOP} --cordon node-5", [MAP]),
        ("verify --snapshot changed.json", ["Comparison with kube-scheduler"]),
        (f"verify {OF_SHOP}", ["Comparison with kube-scheduler"]),
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
    (lead,) = page.cssselect("main .lead")
    summary = json.loads(answer.out).get("summary")
    assert summary is None or summary == lead.text_content()
    assert len(title.text_content()) < 60
    assert page.cssselect("title")[0].text_content() == words(title.text_content())
    identifiers = page.xpath("//@id")
    assert len(set(identifiers)) == len(identifiers)


@pytest.mark.parametrize(
    "command",
    [
        f"simulate {OF_SHOP}",
        f"drain node-1 --ignore-daemonsets {OF_SHOP}",
        "rollout -f web-in-place.yaml --snapshot rollout.yaml",
        f"optimum --minimize nodes {OF_SHOP}",
        "leader --snapshot elections.yaml",
        f"diff -A {OF_SHOP} --drain node-8",
        "verify --snapshot changed.json",
    ],
)
def test_pages_contain_every_word_of_the_text(command: str, room: Path) -> None:
    page = lxml.html.document_fromstring(printed(command, "html", room).out)
    words = {word.rstrip(":") for word in " ".join(page.xpath("//body//text()")).split()}
    # A page is read later: it has no age.
    text = re.sub(r"state of (.+ UTC), 3 min ago", r"\1", printed(command, "wide", room, columns=400).out)
    assert [word for word in text.split() if word.rstrip(":") not in words | {"·"}] == []


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("batch cases.jsonl", "there is no option -o"),
        ("watch", '"html" is not an output format of this command: use jsonl'),
    ],
)
def test_streams_of_lines_have_no_page(command: str, error: str, room: Path) -> None:
    refused = printed(command, "html", room)
    assert refused.code == 2
    assert error in refused.err
