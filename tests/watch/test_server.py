"""``/metrics``, ``/healthz`` and ``/readyz``."""

from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kschedctl.common.errors import ClusterError, InputError
from kschedctl.watch import loop as status_module
from kschedctl.watch.feed import Feed
from kschedctl.watch.leadership import Alone
from kschedctl.watch.loop import LoopStatus
from kschedctl.watch.metrics import exposition
from kschedctl.watch.server import Server, address
from tests.watch.test_feed import NODES, PODS, feed

__all__ = ["feed"]


class Standby(Alone):
    """A replica without the Lease, while another replica leads."""

    left = 0.0

    def check(self) -> str:
        """Return the failure of the health check."""
        return "failed election to renew leadership on lease shop/watch"


@pytest.fixture
def status(feed: Feed) -> LoopStatus:
    feed.listed(NODES, [])
    feed.listed(PODS, [])
    return LoopStatus(feed, Alone())


@pytest.fixture
def port(status: LoopStatus) -> Iterator[int]:
    checks = {"/healthz": status.health, "/readyz": status.readiness}
    server = Server(("127.0.0.1", 0), lambda: exposition(status), checks)
    server.start()
    yield server.port
    server.stop()


def get(port: int, path: str) -> tuple[int, str, str]:
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read().decode()
    finally:
        connection.close()


def metrics(port: int) -> dict[tuple[str, ...], float]:
    families = text_string_to_metric_families(get(port, "/metrics")[2])
    return {(s.name, *s.labels.values()): s.value for family in families for s in family.samples}


def test_metrics_tell_how_it_is_doing(status: LoopStatus, port: int) -> None:
    status.causes.update({"NodeResourcesFit": 3, "none": 1})
    status.answers["unschedulable"] = 7
    status.rounds, status.round_seconds = 2, 0.5
    status.written = lambda: status.answers
    found = metrics(port)
    expected = {
        ("kschedctl_watch_pods_waiting", "NodeResourcesFit"): 3,
        ("kschedctl_watch_pods_waiting", "none"): 1,
        ("kschedctl_watch_answers_total", "unschedulable"): 7,
        ("kschedctl_watch_events_total", "unschedulable"): 7,
        ("kschedctl_watch_round_seconds_sum",): 0.5,
        ("kschedctl_watch_lists_total", "Node"): 1,
        ("kschedctl_watch_failures_total", "Pod"): 0,
        ("kschedctl_watch_leading",): 1,
    }
    assert {name: found[name] for name in expected} == expected
    assert 0 <= found[("kschedctl_watch_cache_age_seconds",)] < 10
    assert found[("process_resident_memory_bytes",)] > 0
    assert get(port, "/metrics")[1].startswith("text/plain; version=0.0.4")


def test_who_does_not_lead_knows_of_no_pods(status: LoopStatus, port: int) -> None:
    status.causes["NodeResourcesFit"] = 3
    status.leadership = Standby()
    found = metrics(port)
    assert found[("kschedctl_watch_leading",)] == 0
    assert not [name for name in found if name[0] == "kschedctl_watch_pods_waiting"]


def test_all_is_well(port: int) -> None:
    assert [get(port, path)[::2] for path in ("/healthz", "/readyz?verbose")] == [(200, "ok")] * 2
    assert get(port, "/")[0] == 404


def test_leader_that_neither_renews_nor_ends_is_not_healthy(status: LoopStatus, port: int) -> None:
    status.leadership = Standby()
    code, _, text = get(port, "/healthz")
    assert code == 500
    assert text.splitlines() == [
        "[+]loop ok",
        "[-]leaderElection failed: failed election to renew leadership on lease shop/watch",
        "healthz check failed",
    ]


def test_loop_that_hangs_is_not_healthy(status: LoopStatus, port: int) -> None:
    status.turned_at -= 1000
    assert "[-]loop failed: no round for 10" in get(port, "/healthz")[2]


def test_cache_that_is_old_is_not_ready_but_healthy(
    status: LoopStatus, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restart would not bring back the API server."""
    monkeypatch.setattr(status_module, "MOST_AGE", -1.0)
    status.feed.failed(NODES, ClusterError("it is away"))
    assert get(port, "/healthz")[0] == 200
    code, _, text = get(port, "/readyz")
    assert code == 500
    assert "[-]cache failed: no response of the API server for 0 s; it is away" in text


WRONG: list[Any] = ["8080", "", ":", ":99999", "host", "::1:8080", "[::1]", ":8080/metrics", "a:b:1"]


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not an address"):
        address(text)


def test_address_that_is_taken_or_not_ours_is_an_error(port: int, tmp_path: Path) -> None:
    for where in (("127.0.0.1", port), ("192.0.2.1", 0)):
        with pytest.raises(InputError, match="cannot listen on"):
            Server(where, bytes, {})
