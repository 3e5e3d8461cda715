"""Changes since the last read, one entry per object, however many events arrive in between."""

import time
from collections.abc import Callable
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from kschedctl.common.errors import ClusterError
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.sources.live.api_server import Connection
from kschedctl.sources.live.discovery import Served
from kschedctl.sources.live.kubeconfig import LiveContext
from kschedctl.watch.feed import Feed
from tests.builders import make_node, make_pod
from tests.live.plain_server import kubeconfig

NODES = Served("Node", Node, "nodes", "/api/v1/nodes")
PODS = Served("Pod", Pod, "pods", "/api/v1/pods")


@pytest.fixture
def feed(tmp_path: Path) -> Feed:
    """Return a feed that only the test writes to."""
    config = tmp_path / "kubeconfig"
    config.write_text(str(kubeconfig("http://127.0.0.1:1")).replace("'", '"'))
    return Feed(Connection(LiveContext(kubeconfig=str(config))), [NODES, PODS])


def names(objects: Any) -> dict[str, bool]:
    """Return for each object True if it exists, False if it was deleted."""
    return {name: obj is not None for (_, name), obj in objects.items()}


def test_of_an_object_the_last_state_counts(feed: Feed) -> None:
    a, again = make_node("a"), make_node("a", cpu="8")
    feed.changed(NODES, a)
    feed.gone(NODES, a)
    feed.changed(NODES, again)
    feed.changed(NODES, make_node("b"))
    feed.gone(NODES, make_node("b"))
    taken = feed.take(0)
    assert names(taken.objects[Node]) == {"a": True, "b": False}
    assert taken.objects[Node]["", "a"] is again
    assert not feed.take(0)


def test_list_replaces_what_came_before_and_takes_in_what_comes_after(feed: Feed) -> None:
    feed.changed(NODES, make_node("old"))
    feed.listed(NODES, [make_node("a"), make_node("b")])
    feed.gone(NODES, make_node("a"))
    feed.changed(NODES, make_node("c"))
    taken = feed.take(0)
    assert names(taken.lists[Node]) == {"b": True, "c": True}
    assert not taken.objects


def test_what_waits_is_never_more_than_the_cluster(feed: Feed) -> None:
    for i in range(1000):
        feed.changed(PODS, make_pod(f"p{i % 10}"))
    assert len(feed.take(0).objects[Pod]) == 10


def test_taking_waits_for_what_belongs_together(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    feed.changed(NODES, make_node("a"))
    wait_for = feed._changed.wait_for

    def with_a_change(condition: Callable[[], bool], seconds: float) -> bool:
        if seconds == 0.3:
            feed.changed(PODS, make_pod("p"))
        return wait_for(condition, seconds)

    monkeypatch.setattr(feed._changed, "wait_for", with_a_change)
    taken = feed.take(5, settle=0.3)
    assert set(taken.objects) == {Node, Pod}
    assert time.monotonic() - taken.since >= 0.3


def test_taking_ends_when_it_is_woken(feed: Feed) -> None:
    Timer(0.05, feed.wake).start()
    began = time.monotonic()
    assert not feed.take(600)
    assert time.monotonic() - began < 300


def test_everything_is_there_once_each_kind_was_listed_or_refused(feed: Feed) -> None:
    feed.listed(NODES, [])
    assert not feed.first(0.01)
    feed.forbidden(PODS, ClusterError("no"))
    assert feed.first(0.01)
    assert list(feed.refused) == ["Pod"]
    assert list(feed.reach) == ["Node"]


def test_failure_before_the_first_list_is_an_error_and_later_a_problem(feed: Feed) -> None:
    feed.failed(NODES, ClusterError("away"))
    with pytest.raises(ClusterError, match="away"):
        feed.first(0.01)
    feed.listed(PODS, [])
    feed.failed(PODS, ClusterError("away again"))
    assert feed.reach["Pod"].problem == "away again"
    feed.heard(PODS)
    assert not feed.reach["Pod"].problem
    assert (feed.reach["Pod"].listed, feed.reach["Pod"].failures) == (1, 1)


def test_age_is_that_of_the_kind_that_was_heard_of_longest_ago(feed: Feed) -> None:
    time.sleep(0.05)
    heard = time.monotonic()
    feed.heard(NODES)
    assert feed.age >= 0.05
    feed.heard(PODS)
    assert feed.age <= time.monotonic() - heard


def test_mistake_in_a_thread_is_raised_where_changes_are_taken(feed: Feed) -> None:
    class Broken:
        def run(self) -> None:
            raise ZeroDivisionError

    feed._run(Broken())  # type: ignore[arg-type]
    with pytest.raises(ZeroDivisionError):
        feed.take(5)
