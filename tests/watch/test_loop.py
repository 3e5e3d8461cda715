"""The watch loop: only the leader takes over and reports changes; a problem is reported once."""

import re
from typing import Any

import pytest

from kschedctl.common.errors import ClusterError
from kschedctl.watch import loop
from kschedctl.watch import loop as loop_module
from kschedctl.watch.feed import Feed
from kschedctl.watch.leadership import Alone
from kschedctl.watch.loop import Loop, Standstill
from kschedctl.watch.pod_answers import PodAnswers
from tests.builders import make_node, make_pod
from tests.watch.test_feed import NODES, PODS, feed
from tests.watch.test_pod_answers import BIG, A, B, scheduling, short

__all__ = ["feed"]


class Turns(Alone):
    """A leadership that the test sets."""

    left: Any = 60.0


class Case:
    """A loop that only the test drives."""

    def __init__(self, feed: Feed, **options: Any) -> None:
        self.feed, self.leadership = feed, Turns()
        self.said: list[str] = []
        self.told: list[str] = []
        self.loop = Loop(
            scheduling([A], [BIG]),
            feed,
            PodAnswers(lambda metadata: True),
            self.leadership,
            say=lambda told: self.said.extend(short(told)),
            tell=self.told.append,
            **options,
        )

    def turn(self) -> list[str]:
        """Run the next turn and return its output."""
        self.said.clear()
        self.loop.turn()
        return list(self.said)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_module, "_TICK", 0.0)
    monkeypatch.setattr(loop_module, "SETTLE", 0.0)


def test_what_changes_is_said_and_what_does_not_is_not(feed: Feed) -> None:
    case = Case(feed)
    assert case.turn() == ["big: unschedulable"]
    assert case.turn() == []
    feed.changed(PODS, BIG)
    feed.changed(NODES, A)
    assert case.turn() == []
    feed.changed(NODES, B)
    assert case.turn() == ["big: scheduled again"]
    feed.gone(PODS, BIG)
    assert case.turn() == ["big is gone"]
    status = case.loop.status
    assert (status.nodes, status.pods, status.rounds) == (2, 0, 3)
    assert status.answers == {"unschedulable": 1, "scheduled": 1}


def test_who_does_not_lead_keeps_up_and_says_everything_once_it_does(feed: Feed) -> None:
    case = Case(feed)
    case.leadership.left = 0.0
    feed.changed(PODS, make_pod("huge", requests={"cpu": "60"}))
    assert case.turn() == []
    assert (case.loop.status.pods, case.loop.status.decisions) == (2, 0)
    case.leadership.left = 60.0
    assert case.turn() == ["big: unschedulable", "huge: unschedulable"]
    case.leadership.left = 0.0
    feed.changed(NODES, B)
    assert case.turn() == []
    case.leadership.left = 60.0
    assert case.turn() == ["huge: unschedulable"]


def test_nothing_is_said_where_the_lease_ends_while_it_is_decided(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(feed)
    rounds = case.loop._answers.round

    def slow(cluster: Any) -> Any:
        case.leadership.left = 0.0
        return rounds(cluster)

    monkeypatch.setattr(case.loop._answers, "round", slow)
    assert case.turn() == []
    monkeypatch.undo()
    case.leadership.left = 60.0
    assert case.turn() == ["big: unschedulable"], "it is ours again before anybody has looked"


def test_answers_are_the_same_after_the_cache_was_built_anew(feed: Feed) -> None:
    case = Case(feed, few_changes=0)
    case.turn()
    for i in range(5):
        pod = make_pod(f"huge-{i}", requests={"cpu": f"{60 + i}"})
        feed.changed(PODS, pod)
        assert case.turn() == [f"huge-{i}: unschedulable"]
        feed.gone(PODS, pod)
        assert case.turn() == [f"huge-{i} is gone"]
    assert case.loop.status.compactions > 0


def test_what_is_left_out_is_told_once(feed: Feed) -> None:
    case = Case(feed)
    feed.changed(NODES, make_node("odd", cpu="many"))
    case.turn()
    case.turn()
    (told,) = case.told
    assert told.startswith("warning: not in the answers: Node odd: ")


def test_a_standstill_is_reported_once_per_cause_and_its_end(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    news: list[Standstill] = []
    case = Case(feed, stand_still=news.append)
    feed.listed(NODES, [A])
    feed.listed(PODS, [])
    feed.failed(NODES, ClusterError("it is away"))
    case.turn()
    assert not case.told, "one that is restarted is no news"
    monkeypatch.setattr(loop, "PATIENCE", 0.0)
    case.turn()
    feed.failed(PODS, ClusterError("it is away"))
    case.turn()
    feed.failed(NODES, ClusterError("it does not accept the credentials", hint="log in again"))
    case.turn()
    feed.failed(PODS, ClusterError("it is away"))
    case.turn()
    assert [(each.problem, each.kinds) for each in news] == [
        ("it is away", 1),
        ("it does not accept the credentials", 2),
    ]
    feed.heard(NODES)
    case.turn()
    assert len(news) == 2, "a kind cannot be watched yet"
    feed.heard(PODS)
    case.turn()
    case.turn()
    assert [re.sub(r"\d+ s\b", "N s", text) for text in case.told] == [
        "warning: the cluster state is N s old, 1 kind cannot be watched: it is away",
        "warning: the cluster state is N s old, 2 kinds cannot be watched: it does not accept the credentials",
        "the API server answers again after N s (4 failed requests)",
    ]


def test_causes_that_differ_in_the_path_of_their_kind_are_one(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "PATIENCE", -1.0)
    case = Case(feed)
    for kind in (NODES, PODS):
        feed.listed(kind, [])
        feed.failed(kind, ClusterError(f"https://here{kind.path} broke the connection: Connection reset"))
        case.turn()
    assert len(case.told) == 1
