"""The leader of an election, as data."""

import json
from pathlib import Path
from typing import Any

import pytest

from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.leaderelection.election import Election, ElectionState
from kschedctl.leaderelection.network import Crash, Partition, Scenario
from kschedctl.leaderelection.settings import ElectionSettings
from kschedctl.objects.releases.choice import ChosenBy
from kschedctl.questions.answer import RulesData, SnapshotData
from kschedctl.questions.frame import View
from kschedctl.questions.leader.analysis import SimulationRequest, leader, simulate_election
from kschedctl.questions.leader.answer import LeaderOverview
from kschedctl.questions.leader.document import lease_bars, overview_document, terms_timeline
from tests.answer_schema import validate
from tests.builders import make_loaded, make_node
from tests.cli.in_process import run
from tests.cli.transcript import make_room
from tests.leaderelection.test_overview import NOW, OLD, OTHER, candidate, held_by, lease, operator
from tests.questions.printing import lines


@pytest.mark.parametrize(
    "words",
    [
        "leader --snapshot {room}/elections.yaml",
        "leader --snapshot {room}/elections.yaml --config {room}/election.yaml",
        "leader --snapshot {room}/shop",
        "leader simulate --crash 20s-40s --slow-api 1s@50s-60s --upgrade 70s --clock-skew 2s --clock-drift 1%",
        "leader simulate --no-release --fail-over 20s",
    ],
)
def test_answers_are_valid_by_the_schema(words: str, room: Path) -> None:
    printed = run(*words.format(room=room).split(), "-o", "json")
    assert printed.code in (0, 1), printed.err
    validate(json.loads(printed.out))


@pytest.mark.parametrize(
    ("words", "problem", "hint"),
    [
        ("--duration 1000000h", "3 candidates for 3,600,000,000 s make 5,400,000,000 attempts", "use a shorter"),
        ("--duration 1000000h --candidates 1", "1 candidate for 3,600,000,000 s make", "use a shorter"),
        ("--candidates 50 --duration 72h", "50 candidates for 259,200 s make 6,480,000", "fewer --candidates"),
        ("--partition 1s-1000000h=all", "make 5,400,000,068 attempts", "until the last fault"),
        ("--retry-period 1ns", "at most 5,000,000 are simulated", "a longer --retry-period"),
        ("--fail-over 1000000h", "3.6e+09 s until another leads is too long", "at most 1 hour"),
    ],
)
def test_an_election_that_takes_too_long_is_refused(words: str, problem: str, hint: str) -> None:
    printed = run("leader", "simulate", *words.split())
    assert printed.code == 2
    assert problem in printed.err
    assert hint in printed.err


@pytest.mark.parametrize("option", ["--crash", "--partition", "--slow-api"])
@pytest.mark.parametrize("digits", ["0", "4", "9" * 5000])
def test_a_candidate_that_does_not_exist_is_refused(option: str, digits: str) -> None:
    printed = run("leader", "simulate", option, f"20s={digits}")
    assert printed.code == 2
    assert "is not a candidate: 1 to 3, leader or all" in " ".join(printed.err.replace("│", "").split())
    assert len(printed.err) < 1000


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("room")
    make_room(folder)
    return folder


def asked(*objects: Any) -> LeaderOverview:
    builder = ClusterBuilder()
    for obj in (make_node("cp-1"), *objects):
        builder.add(obj)
    return leader(make_loaded(builder.build(taken_at=NOW)))


SCHEDULER = "kube-scheduler: cp-1 leads, renewed 3 s before the snapshot. If it dies now, "
NOBODY = "a waiting candidate leads within 21 s (at the earliest after 12 s); the snapshot shows none."
GONE = f"ops/op: no leader, {OLD} is gone and did not release the lease (of 2 min 17 s, last renewed"
CRASHED = {
    "phase": "Running",
    "conditions": [{"type": "Ready", "status": "False"}],
    "containerStatuses": [{"name": "c", "restartCount": 37, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}],
}
RELEASE = "set LeaderElectionReleaseOnCancel in the program, so that a pod that stops releases the lease"


@pytest.mark.parametrize(
    ("objects", "summary", "steps"),
    [
        pytest.param([lease()], f"{SCHEDULER}{NOBODY}", [], id="no other candidate is seen"),
        pytest.param(
            [lease(), candidate("cp-2_2", "1.36", "1.36")],
            f"{SCHEDULER}another leads within 21 s (at the earliest after 12 s).",
            [],
            id="another candidate is seen",
        ),
        pytest.param(
            [lease(), held_by(OLD), operator(OTHER)],
            f"{GONE} 50 s before the snapshot); {OTHER} can take over at 12:01:27 UTC, 1 min 27 s after the snapshot, "
            f"at its next retry. {SCHEDULER}{NOBODY}",
            ["wait until 12:01:27 UTC", RELEASE],
            id="the holder is gone",
        ),
        pytest.param(
            [lease(), held_by(OLD, ago=140), operator(OTHER)],
            f"{GONE} 2 min 20 s before the snapshot); {OTHER} can take over now, at its next retry. "
            f"{SCHEDULER}{NOBODY}",
            ["wait for the next retry", RELEASE],
            id="the lease has just expired",
        ),
        pytest.param(
            [lease(), held_by(OLD, ago=600), operator(OTHER)],
            f"{GONE} 10 min before the snapshot); {OTHER} runs and has not acquired it since. {SCHEDULER}{NOBODY}",
            [f"look whether {OTHER} reaches the API server and takes part in the election", RELEASE],
            id="nobody takes over",
        ),
        pytest.param(
            [lease(), held_by(OTHER), operator(OTHER)],
            f"ops/op: {OTHER} holds the lease but is late or dead, last renewed 50 s before the snapshot. If it is "
            f"dead, a waiting candidate leads within 96 s (at the earliest after 87 s); the snapshot shows none. "
            f"{SCHEDULER}{NOBODY}",
            ["wait until 12:01:27 UTC", f"look whether {OTHER} reaches the API server and takes part in the election"],
            id="the holder is late",
        ),
        pytest.param(
            [lease(), held_by(OTHER), operator(OTHER, ago=40)],
            f"ops/op: no leader, the former {OTHER} is gone and did not release the lease (of 2 min 17 s, last renewed "
            f"50 s before the snapshot); the new {OTHER} can take over at 12:01:27 UTC, 1 min 27 s after the "
            f"snapshot, at its next retry. {SCHEDULER}{NOBODY}",
            ["wait until 12:01:27 UTC", RELEASE],
            id="a pod of the same name",
        ),
        pytest.param(
            [lease(), held_by(OLD, ago=600), operator(OTHER, node="", status={"phase": "Pending"})],
            f"{GONE} 10 min before the snapshot); {OTHER} is pending. {SCHEDULER}{NOBODY}",
            [f"get {OTHER} scheduled"],
            id="the only candidate is pending",
        ),
        pytest.param(
            [lease(), held_by(OTHER, ago=600), operator(OTHER, status=CRASHED)],
            f"ops/op: no leader, {OTHER} last renewed 10 min before the snapshot, and the pod is not ready "
            f"(CrashLoopBackOff, 37 restarts). {SCHEDULER}{NOBODY}",
            [f"get {OTHER} to run: it is not ready (CrashLoopBackOff, 37 restarts)"],
            id="the holder crashes",
        ),
        pytest.param(
            [lease(), lease("op", namespace="ops", holder="", ago=600), operator(OTHER)],
            f"ops/op: no leader, the last holder released the lease; {OTHER} runs and has not acquired it since. "
            f"{SCHEDULER}{NOBODY}",
            [f"look whether {OTHER} reaches the API server and takes part in the election"],
            id="nobody acquires a lease that was released",
        ),
        pytest.param([lease(), held_by(OLD, ago=600)], f"{SCHEDULER}{NOBODY}", [], id="a lease that was left behind"),
    ],
)
def test_the_election_in_trouble_comes_first(objects: list[Any], summary: str, steps: list[str]) -> None:
    answer = asked(*objects)
    assert answer.summary == summary
    assert [each.summary for each in answer.suggestions] == steps


def election(state: str = "led", **fields: Any) -> Election:
    values = {
        "name": "kube-system/kube-scheduler",
        "kind": "Lease",
        "holder": "cp-1_6f1d",
        "pod": "",
        "node": "",
        "lease_duration_seconds": 15,
        "acquired_ago": None,
        "renewed_ago": 3.0,
        "transitions": 0,
        "expired": False,
        "earliest": 12.0,
        "latest": 20.8,
    }
    return Election(**{**values, **fields}, state=ElectionState(state))


def row(one: Election, width: int = 80, *, wide: bool = False) -> str:
    answer = LeaderOverview(
        rules=RulesData("1.36", ChosenBy.DEFAULT, "", "", {}),
        snapshot=SnapshotData((), 1, 1, None),
        warnings=(),
        missing=(),
        not_modelled=(),
        summary="",
        elections=(one,),
        problems=(),
        heartbeats=0,
        retry_period=2.0,
    )
    printed = lines(overview_document(answer, View(wide=wide)), width)
    assert max(map(len, printed)) <= width
    return " ".join(next(line for line in printed if "kube-system/kube-scheduler" in line).split())


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (election(), "cp-1 3 s ago 12-21 s"),
        (election("late", renewed_ago=9.0, earliest=6.0, latest=14.8), "cp-1 (late) 9 s ago 6-15 s"),
        (
            election("overdue", expired=True, renewed_ago=785.0, earliest=None, latest=None),
            "none (was cp-1) 13 min ago past",
        ),
        (election("clockAhead", renewed_ago=-2.5e11, earliest=None, latest=None), "cp-1 in 7,927 years -"),
        (election(lease_duration_seconds=2**31 - 1, earliest=2.1e9, latest=2.1e9), "cp-1 3 s ago 66 years"),
        (election(earliest=90.0, latest=310.0), "cp-1 3 s ago 90 s-5 min 10 s"),
        (election(holder="x" * 300), "xxxxxxxxxxxxxxxxxxxxxxxxxx... 3 s ago 12-21 s"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_row(one: Election, expected: str) -> None:
    assert row(one) == f"kube-system/kube-scheduler {expected}"


@pytest.mark.parametrize("width", [80, 120, 160])
def test_a_long_holder_fits_in_every_width(width: int) -> None:
    assert row(election(holder="x" * 300), width, wide=True)


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
    request = SimulationRequest(settings=ElectionSettings(), scenario=Scenario(faults=faults))
    answer = simulate_election(request)
    chart = terms_timeline(answer)
    lanes = {lane.name: [chart.kinds[span.kind].name for span in lane.spans] for lane in chart.lanes}
    assert lanes[answer.terms[0].who] == expected
    assert lanes["no leader"] == ["no leader"] * len(answer.gaps)


def test_two_leaders_at_once() -> None:
    scenario = Scenario(faults=(Crash(20.0), Partition(40.0, 70.0)), seed=3)
    answer = simulate_election(SimulationRequest(settings=ElectionSettings(), scenario=scenario))
    ((first, second),) = answer.overlaps
    chart = terms_timeline(answer)
    spans = {lane.name: [(chart.kinds[span.kind].name, span.text) for span in lane.spans] for lane in chart.lanes}
    for one, other in ((first, second), (second, first)):
        assert ("leads beside another leader", other.who) in spans[one.who]
