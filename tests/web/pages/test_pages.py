"""Each address has its page, with the answer and links to the objects that it names."""

from collections import deque
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from litestar.testing import TestClient

from kschedctl.web.app import create_app
from kschedctl.web.questions.question import OFFERED
from kschedctl.web.settings import ServeSettings
from tests.paths import ROOT
from tests.web.conftest import ADDRESS, LIMITS, snapshot
from tests.web.pages.reading import HTML, links, opened, texts

#: The address, its heading, a text of its main part, and links of it.
PAGES: dict[str, tuple[str, str, dict[str, str]]] = {
    "/": (
        "fixtures/shop/cluster",
        "4 pods are pending in 4 groups",
        {"Deployment shop/web": "/workloads/Deployment/shop/web"},
    ),
    "/pending": ("Pending pods", "preemption would help", {"One pod in detail": "/pods/shop/search-3"}),
    "/pods": ("Pods", "77 pods, 4 of them pending", {"node-8": "/nodes/node-8", "shop/web-7": "/pods/shop/web-7"}),
    "/pods?namespace=ml": ("Pods", "ml/", {"Job ml/train": "/workloads/Job/ml/train"}),
    "/pods?q=web-7&namespace=": ("Pods", "1 pod, pending", {"shop/web-7": "/pods/shop/web-7"}),
    "/pods/shop/web-7": ("Pod shop/web-7", "fits on 5 of 15 nodes", {"node-5": "/nodes/node-5"}),
    "/pods/shop/search-3": (
        "Pod shop/search-3",
        "Preemption",
        {
            "batch/report-6": "/pods/batch/report-6",
            "Try a suggestion": "/pods/shop/search-3?apply-suggestion=1",
            "One node, step by step": "/pods/shop/search-3?node=node-8&why=true",
        },
    ),
    "/pods?pending=true": ("Pods", "4 pods, 4 of them pending", {"Show all": "/pods"}),
    "/pods?workload=Deployment+shop/web": ("Pods", "7 pods, 1 of them pending", {"shop/web-7": "/pods/shop/web-7"}),
    "/pods/shop/search-3?node=node-8&why=true": ("Pod shop/search-3", "node-8 (zone eu-central-1b): does not fit", {}),
    "/pods/data/postgres-0": ("Pod data/postgres-0", "Volumes", {}),
    "/nodes": ("Nodes", "15 nodes, 15 ready", {"node-8": "/nodes/node-8", "By zone": "/nodes?by=zone"}),
    "/nodes/node-8": (
        "Node node-8",
        "node-8 is ready",
        {"Drain it": "/drain?node=node-8&ignore-daemonsets=true", "shop/api-2": "/pods/shop/api-2"},
    ),
    "/workloads": ("Workloads", "workloads", {"StatefulSet data/postgres": "/workloads/StatefulSet/data/postgres"}),
    "/workloads/Deployment/shop/web": (
        "Deployment shop/web",
        "6 on 6 nodes, 1 pending",
        {"shop/web-1": "/pods/shop/web-1"},
    ),
    "/claims": ("Claims", "claims", {}),
    "/budgets": ("Disruption budgets", "1 of them allows no eviction", {"shop/recommend": "/budgets/shop/recommend"}),
    "/budgets/shop/recommend": ("Budget shop/recommend", "allows 0 evictions now", {}),
    "/search?q=web": ("Search", "objects", {"shop/web": "/workloads/Deployment/shop/web"}),
    "/search": ("Search", "nothing to find", {}),
    "/try": ("Try a manifest", "Explain and lint", {}),
    "/drain?node=node-8": ("Drain", "Simulate kubectl drain", {}),
    "/simulate": ("Simulate", "Schedule the pending pods", {}),
    "/capacity?pod=shop/web-7": ("Capacity", "Count how many more copies", {}),
    "/changes": ("Changes for pending pods", "the fewest changes", {}),
    "/compare": ("Compare", "another snapshot", {}),
    "/jobs": ("Jobs", "", {}),
}


@pytest.mark.parametrize("address", PAGES)
def test_an_address_has_its_page(shop: TestClient[Any], address: str) -> None:
    heading, text, expected = PAGES[address]
    root = opened(shop, address)
    (h1,) = texts(root, "h1")
    assert heading in h1
    assert text in " ".join(texts(root, "main"))
    assert expected.items() <= links(root, "main a").items()


def test_a_suggestion_leads_to_the_page_with_its_change(shop: TestClient[Any]) -> None:
    address = links(opened(shop, "/pods/shop/search-3"), "main a")["uncordon node node-9"]
    assert address.startswith("/pods/shop/search-3?apply-suggestion=")
    tried = opened(shop, address)
    assert texts(tried, "h1") == ["Pod shop/search-3 \u00b7 Fits"]
    assert texts(tried, ".provenance .tone-mixed") == ["what if: uncordon node node-9"]


@pytest.mark.parametrize(
    ("address", "status", "problem"),
    [
        ("/nowhere", 404, "Not Found"),
        ("/pods/shop/nobody", 404, "nobody"),
        ("/nodes/node-99", 404, "node-99"),
        ("/workloads/Deployment/shop/nothing", 404, "Deployment shop/nothing"),
        ("/claims/shop/none", 404, "shop/none"),
        ("/budgets/shop/none", 404, "shop/none"),
        ("/jobs/none", 404, "no such job"),
        ("/pods?colour=red", 400, '"colour" is not a parameter here'),
        ("/pods/shop/web-7?suggest=many", 400, "suggest: is not a whole number"),
        ("/nodes?cordon=node-99", 400, "node-99"),
        ("/nodes?taint=node-8", 400, "node-8"),
        ("/?q=%ff", 400, "UTF-8"),
    ],
)
def test_an_error_has_a_page_in_the_same_frame(shop: TestClient[Any], address: str, status: int, problem: str) -> None:
    root = opened(shop, address, status=status)
    assert problem in " ".join(texts(root, "main"))
    assert links(root, "nav a")["Nodes"].startswith("/nodes")


def test_an_error_of_a_what_if_can_be_removed(shop: TestClient[Any]) -> None:
    root = opened(shop, "/nodes?by=zone&cordon=node-99", status=400)
    (remove,) = root.cssselect(".chips a")
    assert remove.get("href") == "/nodes?by=zone"
    opened(shop, remove.get("href"))


def test_only_objects_that_exist_are_links(shop: TestClient[Any]) -> None:
    root = opened(shop, "/pods/shop/web-7?delete=Node/node-5")
    assert "/nodes/node-5" not in " ".join(links(root, "main a").values())


def test_the_current_page_is_marked(shop: TestClient[Any]) -> None:
    assert texts(opened(shop, "/nodes"), "nav [aria-current=page]") == ["Nodes"]


def test_the_files_of_pages_exist(shop: TestClient[Any]) -> None:
    root = opened(shop, "/")
    files = [each.get("src") or each.get("href") for each in root.cssselect("script, link[rel=stylesheet]")]
    assert len(files) == 4
    assert {shop.get(each).status_code for each in files} == {200}
    assert not [each for each in root.iter() if each.get("style") or each.get("onclick")]


#: Links that lead to the cluster as it is, or to a part of the page.
_WITHOUT = ("Show the cluster as it is", "Skip to the content")


@pytest.mark.parametrize(
    "address", ["/", "/pods/shop/search-3", "/nodes/node-5", "/workloads", "/try", "/search?q=web"]
)
def test_all_links_keep_what_ifs(shop: TestClient[Any], address: str) -> None:
    what_ifs = [("cordon", "node-8"), ("taint", "node-5:a=b-c:NoSchedule")]
    root = opened(shop, f"{address}{'&' if '?' in address else '?'}{urlencode(what_ifs)}")
    for text, href in links(root, "a:not(.chips a):not([hidden])").items():
        if text not in _WITHOUT and not href.startswith("#"):
            assert [each for each in parse_qsl(urlsplit(href).query) if each[0] in ("cordon", "taint")] == what_ifs, (
                text
            )
    assert [each.get("aria-label") for each in root.cssselect(".chips a")] == [
        "Remove cordon node-8",
        "Remove taint node-5:a=b-c:NoSchedule",
    ]


def test_a_chip_removes_its_what_if_alone(shop: TestClient[Any]) -> None:
    root = opened(shop, "/nodes?by=zone&cordon=node-8&cordon=node-5")
    assert [each.get("href") for each in root.cssselect(".chips a")] == [
        "/nodes?by=zone&cordon=node-5",
        "/nodes?by=zone&cordon=node-8",
    ]
    assert links(root)["Show the cluster as it is"] == "/nodes?by=zone"


def test_the_form_offers_every_change_of_the_command_line_that_reads_no_file(shop: TestClient[Any]) -> None:
    root = opened(shop, "/")
    offered = [each.get("value") for each in root.cssselect("select[name=what-if] option")]
    assert offered == [edit.option.flag.removeprefix("--") for edit in OFFERED]


@pytest.mark.parametrize(
    ("sent", "address"),
    [
        ("/nodes?what-if=cordon&what-if-value=node-8", "/nodes?cordon=node-8"),
        (
            "/nodes?by=zone&cordon=node-5&what-if=cordon&what-if-value=node-8",
            "/nodes?by=zone&cordon=node-5&cordon=node-8",
        ),
        ("/nodes?what-if=cordon&what-if-value=+", "/nodes"),
        ("/nodes?what-if=colour&what-if-value=red", "/nodes"),
        ("/nodes?what-if=taint&what-if-value=a%26b%3Dc", "/nodes?taint=a%26b%3Dc"),
    ],
)
def test_the_form_leads_to_an_address_with_the_option(shop: TestClient[Any], sent: str, address: str) -> None:
    response = shop.get(sent, headers=HTML, follow_redirects=False)
    assert (response.status_code, response.headers["Location"]) == (303, address)


def test_a_what_if_changes_the_answer_of_its_own_address_alone(shop: TestClient[Any]) -> None:
    lead = "main .lead"
    before = texts(opened(shop, "/pods/shop/web-7"), lead)[0]
    changed = texts(opened(shop, "/pods/shop/web-7?cordon=node-8"), lead)[0]
    other = texts(opened(shop, "/pods/shop/web-7?cordon=node-5"), lead)[0]
    assert ("node-8 (score" in before, "node-5 (score" in changed, "node-8 (score" in other) == (True, True, True)
    assert texts(opened(shop, "/pods/shop/web-7"), lead)[0] == before


#: Pages of one pod are alike: only this many of them are opened.
_MOST_OF_A_KIND = 12


def crawled(client: TestClient[Any], start: str) -> dict[str, int]:
    """Open all pages that can be reached, and return the number of pages by the first part of their path."""
    seen, opened_of = {start}, dict[str, int]()
    todo = deque(seen)
    while todo:
        address = todo.popleft()
        kind = address.partition("?")[0].split("/")[1]
        if opened_of.get(kind, 0) >= _MOST_OF_A_KIND:
            continue
        opened_of[kind] = opened_of.get(kind, 0) + 1
        for link in opened(client, address).cssselect("a[href]"):
            href = link.get("href").partition("#")[0]
            assert not href or href.startswith("/"), href
            if href and href not in seen:
                seen.add(href)
                todo.append(href)
    return opened_of


def test_the_shop(shop: TestClient[Any]) -> None:
    found = crawled(shop, "/")
    assert found.keys() >= {"pods", "nodes", "workloads", "claims", "budgets", "drain", "capacity", "jobs"}


def test_the_shop_with_what_ifs(shop: TestClient[Any]) -> None:
    crawled(shop, "/?cordon=node-8&drain=node-5")


@pytest.mark.parametrize("path", ["volumes/conflict", "pending/cluster.yaml", "devices/cluster", "gangs/cluster"])
def test_other_clusters(path: str) -> None:
    source = snapshot(Path(ROOT / "fixtures" / path))
    with TestClient(create_app(source, ServeSettings(limits=LIMITS)), base_url=ADDRESS) as client:
        crawled(client, "/")


@pytest.mark.parametrize(
    ("address", "problem", "pods"),
    [
        ("/pods?selector=app+in+(", 'selector: "app in (" is not a label selector', 77),
        ("/pods?selector=app+in+(&namespace=shop", 'selector: "app in (" is not a label selector', 20),
        ("/pods?namespace=nope", "namespace: the snapshot has no namespace nope", 77),
        ("/pods?node=nope", "node: the cluster has no node nope", 77),
        ("/pods?workload=nope", "workload: the cluster has no workload nope", 77),
        ("/pods?workload=web", "", 7),
        ("/pods?workload=shop/web", "", 7),
        ("/pods?workload=Deployment+shop/web", "", 7),
        ("/pods?workload=we", "workload: the cluster has no workload we", 77),
        ("/pods?workload=&namespace=", "", 77),
    ],
)
def test_a_list_says_which_filter_is_wrong_and_is_shown_without_it(
    shop: TestClient[Any], address: str, problem: str, pods: int
) -> None:
    root = opened(shop, address)
    assert [text.startswith(problem) for text in texts(root, "main [role=alert]")] == [True] * bool(problem)
    assert len(root.cssselect("main .tone-bad")) == bool(problem)
    assert len(root.cssselect("main tbody tr")) == pods
    assert len(root.cssselect("form.select")) == 1


@pytest.mark.parametrize("path", ["/workloads", "/claims", "/budgets", "/pending"])
def test_every_list_says_that_there_is_no_such_namespace(shop: TestClient[Any], path: str) -> None:
    root = opened(shop, f"{path}?namespace=nope")
    assert texts(root, "main [role=alert]") == ["namespace: the snapshot has no namespace nope"]
    assert root.cssselect("main tbody tr")
