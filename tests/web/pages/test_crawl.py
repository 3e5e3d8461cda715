"""Every link of every page leads to a page."""

from collections import deque
from pathlib import Path
from typing import Any

import pytest
from litestar.testing import TestClient

from kschedctl.web.app import create_app
from kschedctl.web.settings import ServeSettings
from tests.paths import ROOT
from tests.web.conftest import ADDRESS, LIMITS, snapshot
from tests.web.pages.reading import opened

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
