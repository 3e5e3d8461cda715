"""Victims of a preemption, as data and in words."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import structs

from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.choice import choose_release
from kschedctl.output.data_forms import as_json
from kschedctl.questions.explain.explanation import Explained
from kschedctl.questions.preempt.analysis import exposure, preemption_answer, threat_answer
from kschedctl.questions.preempt.answer import (
    Cause,
    Preemption,
    PreemptionList,
    PreemptorFate,
    PreemptorFateData,
    Result,
)
from kschedctl.questions.preempt.document import candidates_bars, criteria_table, document, preemption_map
from kschedctl.questions.preempt.request import PreemptRequest
from kschedctl.questions.preempt_words import deletions, fates, lost_words, preemptor_words, returning
from kschedctl.questions.provenance import Provenance
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.simulate.aftermath import aftermath
from tests.answer_schema import validate
from tests.builders import ZONE, make_cluster, make_loaded, make_node, make_pod, make_profile, overview_of
from tests.questions.drawn import about, cells, coloured, parts, view_of

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
START = "2026-05-04T08:48:00Z"


def running(name: str, node: str, cpu: str = "4", priority: int = 0, **fields: Any) -> Pod:
    status = {"startTime": fields.pop("start", START)}
    return make_pod(name, node=node, requests={"cpu": cpu}, priority=priority, status=status, **fields)


def scheduler(pods: Iterable[Pod], nodes: str = "ab", taken: datetime | None = NOON, **config: Any) -> Scheduler:
    builder = ClusterBuilder()
    for obj in (*(make_node(name, cpu="4") for name in nodes), *pods):
        builder.add(obj)
    made = Scheduler(builder.build(taken_at=taken))
    if config:
        from kschedctl.scheduler.framework.config.load import load_configuration

        points = made.registry.extension_points(made.release)
        loaded = load_configuration(make_profile(**config), release=made.release, implements=points)
        made = Scheduler(made.cluster, made.release, loaded, made.registry)
    return made


def provenance() -> Provenance:
    return Provenance(release_choice=choose_release("1.36", "", ()), paths=("here",), n_pods=1)


def preempt(over: Scheduler, pod: Pod | None = None, **view: Any) -> Preemption:
    pod = pod or make_pod("big", requests={"cpu": "4"}, priority=100)
    decision = over.decide(pod)
    base = Explained(decision, provenance(), seed=view.get("seed"))
    return preemption_answer(base, PreemptRequest(**view), lambda c: aftermath(over, decision, c))


FULL = {"cpu": "4"}
EVICTED = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
TIED = scheduler([running("one", "a"), running("two", "b")])
JOB = ("batch/v1", "Job", "work")
ANSWERS = {
    "a tie": preempt(TIED),
    "one wins": preempt(scheduler([running("low", "a", owner=JOB), running("high", "b", priority=9)])),
    "fits": preempt(scheduler([])),
    "not even without": preempt(scheduler([running("x", "a", "3", priority=500), running("y", "a", "1")], nodes="a")),
    "nobody of lower priority": preempt(scheduler([running("x", "a", priority=100)], nodes="a")),
    "no removal helps": preempt(scheduler([], nodes="a"), make_pod(nodeSelector={"disk": "fast"}, priority=1)),
    "may not": preempt(TIED, make_pod("big", requests={"cpu": "4"}, priority=100, preemptionPolicy="Never")),
    "waits for a victim": preempt(
        scheduler(
            [make_pod("old", node="a", requests={"cpu": "4"}, terminating=True, status={"conditions": [EVICTED]})]
        ),
        make_pod(
            "big", requests={"cpu": "4"}, priority=100, nominated="a", nodeSelector={"kubernetes.io/hostname": "a"}
        ),
    ),
    "gated": preempt(TIED, make_pod("big", requests={"cpu": "4"}, schedulingGates=[{"name": "wait"}])),
    "no nodes": preempt(scheduler([], nodes="")),
    "switched off": preempt(
        scheduler([running("x", "a")], nodes="a", plugins={"multiPoint": {"disabled": [{"name": "DefaultPreemption"}]}})
    ),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_answers_are_valid_by_the_schema(case: str) -> None:
    value = json.loads(as_json(ANSWERS[case]))
    validate(value)


def test_lists_and_threats_are_valid_by_the_schema() -> None:
    found = exposure(scheduler([running("one", "a"), make_pod("big", requests={"cpu": "4"}, priority=9)], "a"), 0)
    answer = threat_answer(found, running("one", "a"), provenance(), TIED.cluster, node_name="a")
    for value in (PreemptionList(items=tuple(ANSWERS.values())), answer):
        validate(json.loads(as_json(value)))


@pytest.mark.parametrize(
    ("case", "result", "helped"),
    [
        ("a tie", Result.PREEMPTS, True),
        ("one wins", Result.PREEMPTS, True),
        ("fits", Result.FITS, True),
        ("not even without", Result.NOT_HELPFUL, False),
        ("nobody of lower priority", Result.NOT_HELPFUL, False),
        ("no removal helps", Result.NOT_HELPFUL, False),
        ("may not", Result.NOT_ELIGIBLE, False),
        ("waits for a victim", Result.NOT_ELIGIBLE, False),
        ("gated", Result.GATED, False),
        ("no nodes", Result.ERROR, False),
        ("switched off", Result.DISABLED, False),
    ],
)
def test_outcome(case: str, result: Result, helped: bool) -> None:
    assert (ANSWERS[case].verdict.result, ANSWERS[case].helped) == (result, helped)


@pytest.mark.parametrize(
    ("case", "cause", "plugin", "message"),
    [
        (
            "not even without",
            Cause.STILL_DOES_NOT_FIT,
            "NodeResourcesFit",
            "preemption: 0/1 nodes are available: 1 Insufficient cpu.",
        ),
        (
            "nobody of lower priority",
            Cause.NO_LOWER_PRIORITY,
            "",
            "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
        ),
        (
            "no removal helps",
            Cause.UNRESOLVABLE,
            "NodeAffinity",
            "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
        ),
    ],
)
def test_why_evicting_does_not_help(case: str, cause: Cause, plugin: str, message: str) -> None:
    (node,) = ANSWERS[case].not_helpful
    assert (node.cause, node.plugin) == (cause, plugin)
    assert ANSWERS[case].preemption_message == message
    assert message in ANSWERS[case].message


def test_a_pod_whose_victim_is_still_stopping_waits() -> None:
    answer = ANSWERS["waits for a victim"]
    assert answer.verdict.summary == (
        "default/big fits on none of 2 nodes and stays pending: a pod evicted for it is still terminating on a."
    )
    assert answer.preemption_message == "preemption: not eligible due to a terminating pod on the nominated node."


def test_numbers_are_those_without_the_pods_of_lower_priority() -> None:
    (node,) = ANSWERS["not even without"].not_helpful
    assert node.reasons[0].detail == "wants 4 cpu, free 1 of 4"


def test_a_tie_says_so_and_a_seed_picks() -> None:
    tie = ANSWERS["a tie"]
    assert tie.verdict.nodes == ("a", "b")
    assert tie.verdict.picked is None
    assert "one of a and b (kube-scheduler picks at random)" in tie.verdict.summary
    assert {preempt(TIED, seed=seed).verdict.picked for seed in range(20)} == {"a", "b"}
    picked = preempt(TIED, seed=1)
    assert [c.name for c in picked.chosen] == [picked.verdict.picked]
    assert picked.next is not None
    assert picked.next.node == picked.verdict.picked


@pytest.mark.parametrize(
    ("taken", "seconds"),
    [(NOON, 3 * 3600 + 12 * 60), (None, 0)],
    ids=["the time of the state", "its start is the newest time"],
)
def test_how_long_a_victim_has_been_running(taken: datetime | None, seconds: int) -> None:
    found = preempt(scheduler([running("one", "a")], "a", taken))
    assert found.candidates[0].victims[0].running_seconds == seconds


@pytest.mark.parametrize(
    ("winner", "loser", "words"),
    [
        ([running("w", "a")], [running("l", "b", priority=5)], "2. lower highest priority of a victim (5 against 0)"),
        (
            [running("w", "a", priority=5)],
            [running("l1", "b", "2", priority=5), running("l2", "b", "2")],
            "3. lower sum of priorities (5 for 2 pods against 5 for 1 pod; each pod counts 2^31 more)",
        ),
        (
            [running("w1", "a", "2", priority=5), running("w2", "a", "2")],
            [running("l1", "b", "2", priority=5), running("l2", "b", "2", priority=1)],
            "3. lower sum of priorities (6 for 2 pods against 5 for 2 pods)",
        ),
        (
            [running("w", "a", start="2026-05-04T09:00:00Z")],
            [running("l", "b")],
            "5. later start of the most important victims (2026-05-04 08:48:00 against 2026-05-04 09:00:00)",
        ),
    ],
    ids=["priority", "sum over more pods", "sum", "start"],
)
def test_where_a_candidate_lost(winner: list[Pod], loser: list[Pod], words: str) -> None:
    found = preempt(scheduler([*winner, *loser]))
    lost = found.candidates[1]
    assert lost.lost_at is not None
    assert lost_words(lost, lost.lost_at, found) == words


def test_what_becomes_of_victims() -> None:
    pods = [running("work", "a", "2", owner=JOB), running("alone", "a", "2"), running("rest", "b", "2", priority=500)]
    found = preempt(scheduler(pods))
    assert found.next is not None
    assert list(fates(found.next.victims)) == [
        "Job work creates a new pod for default/work: it would fit on b.",
        "default/alone is gone for good: no controller recreates it.",
    ]


def test_a_new_pod_may_evict_in_turn() -> None:
    pods = [running("work", "a", owner=JOB, priority=5), running("rest", "b", priority=500), running("low", "c")]
    pod = make_pod("big", requests={"cpu": "4"}, priority=100, nodeSelector={"kubernetes.io/hostname": "a"})
    found = preempt(scheduler(pods, "abc"), pod)
    assert found.next is not None
    (sentence,) = fates(found.next.victims)
    assert sentence == "Job work creates a new pod for default/work: it would preempt other pods in turn, on c."


APART_FROM_BATCH = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "batch"}}, "topologyKey": ZONE}
        ]
    }
}
#: The victim's new pod goes to the other node of the zone, where anti-affinity keeps the pod away again.
RETURNING = preempt(
    Scheduler(
        make_cluster(
            [make_node("a", zone="z"), make_node("b", zone="z")],
            [running("batch", "a", "1", labels={"app": "batch"}, owner=("apps/v1", "ReplicaSet", "batch"))],
        )
    ),
    make_pod("quiet", priority=100, affinity=APART_FROM_BATCH),
)


def test_evictions_are_in_vain_where_the_victims_come_back() -> None:
    assert RETURNING.verdict.summary.startswith(
        "default/quiet would evict 1 pod from a, in vain: the pods that it evicts come back before its next attempt;"
    )
    assert (RETURNING.verdict.result, RETURNING.helped) == (Result.PREEMPTS, False)
    after = RETURNING.next
    assert after is not None
    assert after.preemptor is not None
    assert after.preemptor.result is PreemptorFate.VICTIMS_RETURN
    assert len(after.preemptor.evicted) == 25
    assert list(returning(after.victims)) == ["ReplicaSet batch recreates default/batch: it is scheduled to b."]


def test_a_pod_that_is_scheduled_as_nominated() -> None:
    after = ANSWERS["one wins"].next
    assert after is not None
    assert after.preemptor == PreemptorFateData(PreemptorFate.SCHEDULED, "a", 30.002, (), "")
    assert not after.in_vain
    assert preemptor_words(after) == "It can start as soon as the victim is gone: within 30 s."


def test_the_pod_with_the_longest_grace_period_is_named() -> None:
    slow = running("slow", "a", "1", terminationGracePeriodSeconds=1800)
    found = preempt(scheduler([slow, running("fast", "a", "3")], nodes="a"))
    assert found.next is not None
    words = preemptor_words(found.next)
    assert words == "It can start as soon as all 2 victims are gone: within 30 min, the grace period of default/slow."


FATES = [
    pytest.param(
        PreemptorFateData(PreemptorFate.SCHEDULED, "b", 61.2, ("default/other",), ""),
        "It evicts default/other as well, and starts on b after about 1 min 1 s.",
        id="after more evictions",
    ),
    pytest.param(
        PreemptorFateData(PreemptorFate.SCHEDULED, "b", 12.0, (), ""),
        "It starts on b after about 12 s.",
        id="on another node, where room comes first",
    ),
    pytest.param(
        PreemptorFateData(PreemptorFate.STAYS_PENDING, "", 30.0, (), "0/2 nodes are available: 2 Insufficient cpu. x."),
        "It stays pending: it then still fits nowhere (0/2 nodes are available: 2 Insufficient cpu).",
        id="it still fits nowhere",
    ),
]


@pytest.mark.parametrize(("fate", "words"), FATES)
def test_when_the_pod_starts(fate: PreemptorFateData, words: str) -> None:
    after = ANSWERS["one wins"].next
    assert after is not None
    assert preemptor_words(structs.replace(after, preemptor=fate)) == words


def ending(name: str, cpu: str, end: str) -> Pod:
    pod = running(name, "a", cpu, terminationGracePeriodSeconds=600)
    ends = datetime.fromisoformat(f"2026-05-04T{end}+00:00")
    return structs.replace(pod, metadata=structs.replace(pod.metadata, deletion_timestamp=ends))


ENDING = [
    pytest.param(
        [ending("old", "4", "12:05:00")],
        "1 pod from a, already being deleted;",
        300,
        ["default/old is already being deleted, until 12:05:00 UTC at the latest (5 min)."],
        "It can start as soon as the victim is gone: within 5 min.",
        id="the only victim",
    ),
    pytest.param(
        [ending("old", "2", "12:00:20"), running("fresh", "a", "2")],
        "2 pods from a, 1 of them already being deleted;",
        30,
        ["default/old is already being deleted, until 12:00:20 UTC at the latest (20 s)."],
        "It can start as soon as all 2 victims are gone: within 30 s, the grace period of default/fresh.",
        id="one of two",
    ),
    pytest.param(
        [ending("old", "4", "11:59:00")],
        "1 pod from a, already being deleted;",
        0,
        ["default/old is already being deleted, overdue since 11:59:00 UTC."],
        "It can start as soon as the victim is gone: at once.",
        id="overdue",
    ),
]


@pytest.mark.parametrize(("pods", "summary", "seconds", "said", "words"), ENDING)
def test_a_victim_that_is_already_being_deleted(
    pods: list[Pod], summary: str, seconds: int, said: list[str], words: str
) -> None:
    answer = preempt(scheduler(pods, nodes="a"))
    after = answer.next
    assert after is not None
    assert answer.verdict.summary.startswith(f"default/big would evict {summary}")
    assert (after.wait_seconds, list(deletions(after.victims)), preemptor_words(after)) == (seconds, said, words)


def test_a_pod_that_is_being_deleted_has_no_outcome() -> None:
    after = preempt(TIED, make_pod("big", requests={"cpu": "4"}, priority=100, terminating=True)).next
    assert after is not None
    assert after.preemptor is None


CHANCES = [
    pytest.param(
        [running(name, "a", "2") for name in "xy"],
        "2",
        "would evict 1 pod from a, by chance default/x or default/y;",
        [("default/x",), ("default/y",)],
        id="one of two pods",
    ),
    pytest.param(
        [running("large", "a", "2"), running("x", "a", "1"), running("y", "a", "1")],
        "2",
        "would evict 1 to 2 pods from a, by chance one of 2 possible sets;",
        [("default/large",), ("default/x", "default/y")],
        id="sets of different sizes",
    ),
    pytest.param(
        [running("x", "a", "2"), running("y", "a", "2", start="2026-05-04T09:00:00Z")],
        "2",
        "would evict 1 pod from a;",
        None,
        id="certain",
    ),
]


@pytest.mark.parametrize(("pods", "cpu", "words", "sets"), CHANCES)
def test_victims_that_tie_are_told_as_chance(
    pods: list[Pod], cpu: str, words: str, sets: list[tuple[str, ...]] | None
) -> None:
    found = preempt(scheduler(pods, nodes="a"), make_pod("big", requests={"cpu": cpu}, priority=100))
    assert words in found.verdict.summary
    (candidate,) = found.candidates
    tied = candidate.tied_victims
    assert (sorted(tied.sets) if tied is not None else None) == sets
    assert all(victim.certain is (sets is None) for victim in candidate.victims)


@pytest.mark.parametrize(("victim", "certain"), [("x", False), ("y", False), ("low", True)])
def test_a_pod_that_may_be_a_victim_is_threatened(victim: str, certain: bool) -> None:
    pods = [running("low", "a", "1", priority=-1), running("x", "a", "1"), running("y", "a", "1")]
    over = scheduler([*pods, make_pod("big", requests={"cpu": "3"}, priority=9)], nodes="a")
    (taker,) = exposure(over, over.cluster.pods.index["default", victim]).takers
    assert (taker.node, taker.certain) == ("a", certain)


STATUS = {"startTime": "2026-05-04T08:48:00Z"}
CLUSTER = make_loaded(
    make_cluster(
        [*(make_node(name, cpu="4") for name in "abcd"), make_node("e", cpu="4", taints=["x=y:NoSchedule"])],
        [
            make_pod("low", requests={"cpu": "4"}, node="a", status=STATUS),
            make_pod("mid", requests={"cpu": "4"}, node="b", priority=5, status=STATUS),
            make_pod("top", requests={"cpu": "4"}, node="c", priority=900, status=STATUS),
            make_pod("top-2", requests={"cpu": "1"}, node="d", priority=900, status=STATUS),
            make_pod("low-2", requests={"cpu": "1"}, node="d", status=STATUS),
            make_pod("big", requests={"cpu": "4"}, priority=100),
        ],
    )
)
ANSWER = SchedulingCluster(CLUSTER).preempt("default/big")
LOST = "2. lower highest priority of a victim"


def test_nodes_are_coloured_by_their_part() -> None:
    chart = preemption_map(ANSWER, overview_of(CLUSTER))
    assert coloured(chart) == {
        "a": "best candidate",
        "b": f"lost at {LOST}",
        "c": "has no pods of lower priority",
        "d": "does not fit even without its pods of lower priority",
        "e": "removing pods does not help",
    }
    assert coloured(chart, 1)["e"] == "TaintToleration"
    assert about(chart)["b"][:2] == (f"lost at {LOST} (5 against 0)", "evicts 1 pod")
    assert about(chart)["e"][0] == "taint x=y:NoSchedule is not tolerated"


def test_candidates_have_their_victims_and_what_decided() -> None:
    chart = candidates_bars(ANSWER)
    assert cells(chart) == [("a", "1 pod", "best"), ("b", "1 pod", f"{LOST} (5 against 0)")]
    assert parts(chart) == {"a": ["other victims: 1 pod"], "b": ["other victims: 1 pod"]}


def test_the_table_has_the_numbers_that_are_compared() -> None:
    assert criteria_table(ANSWER).rows == (
        (("a",), ("0",), ("0",), ("0",), ("1",), ("2026-05-04 08:48:00 UTC",), ("-",)),
        (("b",), ("0",), ("5",), ("5",), ("1",), ("2026-05-04 08:48:00 UTC",), ("-",)),
    )


@pytest.mark.parametrize("n_nodes", [20, 25])
def test_bars_are_limited_and_say_so(n_nodes: int) -> None:
    nodes = [make_node(f"n{i}", cpu="4") for i in range(n_nodes)]
    pods = [make_pod(f"p{i}", requests={"cpu": "4"}, node=f"n{i}", status=STATUS) for i in range(n_nodes)]
    cluster = make_loaded(make_cluster(nodes, [*pods, make_pod("big", requests={"cpu": "4"}, priority=100)]))
    chart = candidates_bars(SchedulingCluster(cluster).preempt("default/big"))
    assert len(chart.rows) == 20
    assert chart.note == ("" if n_nodes == 20 else "the best 20 of 25 candidates")


def test_charts_replace_the_table_of_the_other_candidates() -> None:
    headings = [getattr(block, "headings", ()) for block in document(ANSWER, view_of(CLUSTER))]
    assert not any("other candidates" in each for each in headings)
    assert ("nodes", "plugin", "why preemption does not help") in headings


def test_another_scheduler_can_take_the_place() -> None:
    of = ("apps/v1", "ReplicaSet", "scan")
    victim = running("scan-1", "a", schedulerName="packing-scheduler", owner=of)
    rival = make_pod("packing-scheduler-7f-2", namespace="kube-system", node="b")
    big = make_pod("big", requests={"cpu": "4"}, priority=100)
    cluster = make_cluster([make_node("a", cpu="4"), make_node("b", cpu="1")], [victim, rival, big])
    (answer,) = [SchedulingCluster(make_loaded(cluster)).preempt("default/big")]
    assert answer.verdict.summary == (
        "default/big would evict 1 pod from a, but packing-scheduler can take the place on the same node first; the "
        "snapshot has no disruption budgets."
    )
    assert [each.summary.partition(":")[0] for each in answer.cures] == [
        "make packing-scheduler a profile of the same kube-scheduler as default-scheduler",
        "give packing-scheduler separate nodes",
        "set schedulerName",
    ]
    assert answer.next is not None
    assert preemptor_words(answer.next) == (
        "It can start as soon as the victim is gone: within 30 s, unless packing-scheduler takes the place first."
    )
    assert list(fates(answer.next.victims)) == [
        "ReplicaSet scan creates a new pod for default/scan-1: it would be scheduled by another scheduler "
        "(packing-scheduler)."
    ]
