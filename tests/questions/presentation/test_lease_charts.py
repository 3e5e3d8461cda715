"""Charts of leases: their validity, and the terms of leaders."""

from __future__ import annotations

import pytest

from kschedctl.leaderelection.network import Crash, Partition, Scenario
from kschedctl.leaderelection.settings import ElectionSettings
from kschedctl.questions.analyses.leader.simulation import SimulationRequest, simulate_election
from kschedctl.questions.answers.leader import CounterexampleData, Election, TermData
from kschedctl.questions.presentation.lease_charts import counterexample_timeline, lease_bars, terms_timeline
from tests.questions.presentation.test_leader import election


@pytest.mark.parametrize(
    ("one", "expected", "mark"),
    [
        pytest.param(
            election(),
            ["since the last renewal 3", "still valid 12", "expired 8.8"],
            3,
            id="a valid lease, and the latest takeover",
        ),
        pytest.param(
            election("overdue", renewed_ago=785.0, expired=True, earliest=None, latest=None),
            ["since the last renewal 15", "expired before the snapshot 30"],
            None,
            id="a lease that expired long ago",
        ),
        pytest.param(
            election("expired", renewed_ago=20.0, expired=True),
            ["since the last renewal 15", "expired before the snapshot 5"],
            20,
            id="a lease that expired a moment ago",
        ),
    ],
)
def test_validity(one: Election, expected: list[str], mark: float | None) -> None:
    chart = lease_bars([one, election(renewed_ago=None)])
    assert chart is not None
    (bar,) = chart.rows
    assert [f"{chart.kinds[each.kind].name} {round(each.size, 1):g}" for each in bar.segments] == expected
    assert bar.mark == mark
    assert chart.note.endswith("left out: 1 without a time of renewal before the snapshot")


def test_no_time_is_known() -> None:
    assert lease_bars([election(renewed_ago=None), election(renewed_ago=-5.0)]) is None


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        pytest.param((), ["candidate", "leads"], id="no fault"),
        pytest.param((Crash(20.0),), ["candidate", "leads", "crashed"], id="the leader crashes"),
        pytest.param(
            (Partition(20.0, 60.0),), ["candidate", "leads", "cut off", "lost the lease"], id="the leader is cut off"
        ),
    ],
)
def test_states_of_the_first_leader(faults: tuple[Crash | Partition, ...], expected: list[str]) -> None:
    request = SimulationRequest(settings=ElectionSettings(), scenario=Scenario(faults=faults), runs=0)
    answer = simulate_election(request)
    chart = terms_timeline(answer)
    lanes = {lane.name: [chart.kinds[span.kind].name for span in lane.spans] for lane in chart.lanes}
    assert lanes[answer.terms[0].who] == expected
    assert lanes["no leader"] == ["no leader"] * len(answer.gaps)


def test_two_leaders_at_once() -> None:
    first, second = TermData("a", 1.0, 20.0), TermData("b", 15.0, 30.0)
    chart = counterexample_timeline(CounterexampleData(7, first, second, 5.0, ()))
    spans = {
        lane.name: [(chart.kinds[s.kind].name, s.begin, s.end, s.text) for s in lane.spans] for lane in chart.lanes
    }
    assert spans == {
        "a": [("leads", 1.0, 20.0, ""), ("leads beside another leader", 15.0, 20.0, "b")],
        "b": [("leads", 15.0, 30.0, ""), ("leads beside another leader", 15.0, 20.0, "a")],
    }
