"""Each address has its page, with the answer and links to the objects that it names."""

from typing import Any

import pytest
from litestar.testing import TestClient

from tests.web.pages.reading import links, opened, texts

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
    "/pods?q=web-7&namespace=": ("Pods", "1 pod, 1 of them pending", {"shop/web-7": "/pods/shop/web-7"}),
    "/pods/shop/web-7": ("Pod shop/web-7", "fits on 5 of 15 nodes", {"node-5": "/nodes/node-5"}),
    "/pods/shop/search-3": (
        "Pod shop/search-3",
        "Preemption",
        {
            "batch/report-6": "/pods/batch/report-6",
            "One node, step by step": "/pods/shop/search-3?node=node-8&why=true",
        },
    ),
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
    "/budgets": ("Disruption budgets", "1 of them allow no eviction", {"shop/recommend": "/budgets/shop/recommend"}),
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
    assert h1.endswith(heading)
    assert text in " ".join(texts(root, "main"))
    assert expected.items() <= links(root, "main a").items()


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
