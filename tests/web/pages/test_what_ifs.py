"""What-ifs are part of the address: links keep them, chips remove them, and users do not share them."""

from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from litestar.testing import TestClient

from kschedctl.web.questions.question import OFFERED
from tests.web.pages.reading import HTML, links, opened, texts

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
