"""The probes and metrics."""

import re
from typing import Any

from litestar.testing import TestClient

from kschedctl.web.served import Served


def test_healthz(shop: TestClient[Any]) -> None:
    assert shop.get("/healthz").text == "ok"


def test_readyz_is_ready_once_a_process_has_the_cluster(shop: TestClient[Any]) -> None:
    shop.get("/api/v1/cluster")
    assert (shop.get("/readyz").status_code, shop.get("/readyz").text) == (200, "ok")


def test_readyz_names_what_fails_and_not_why(shop: TestClient[Any], monkeypatch: Any) -> None:
    served: Served = shop.app.state.served
    monkeypatch.setattr(type(served.source), "problem", "https://10.0.0.1: connection refused")
    response = shop.get("/readyz")
    assert response.status_code == 500
    assert response.text == "[-]cluster failed: reason withheld\n[+]workers ok\nreadyz check failed\n"


def test_metrics_count_responses(shop: TestClient[Any]) -> None:
    def number() -> float:
        found = re.search(r'kschedctl_serve_responses_total\{status="404"\} ([0-9.]+)', shop.get("/metrics").text)
        return float(found[1]) if found else 0.0

    before = number()
    shop.get("/nope")
    assert number() == before + 1
    text = shop.get("/metrics").text
    assert 'kschedctl_serve_cluster_objects{kind="Node"} 15.0' in text
    assert "process_resident_memory_bytes" in text
