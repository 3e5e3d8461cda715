"""The first line of an answer."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kschedctl.questions.analyses.explain.summary import summary
from kschedctl.questions.answers.explain import (
    CandidateData,
    NodeScoreData,
    PodData,
    PreemptionData,
    ScoresData,
    StatusData,
    VerdictData,
)
from kschedctl.scheduler.cycle.outcome import Outcome
from kschedctl.scheduler.preemption.evaluator import NEVER

POD = PodData("shop", "web", {}, 0, "", "default-scheduler", "", "")
NOWHERE = VerdictData(Outcome.UNSCHEDULABLE, "", (), None, 0, "")
FAILED = StatusData("Unschedulable", "DefaultPreemption", ())


def scheduled(*best: str, feasible: int = 5, picked: str | None = None) -> VerdictData:
    return VerdictData(Outcome.SCHEDULED, "", best, picked, feasible, "")


def scores(*totals: int) -> ScoresData:
    return ScoresData({}, tuple(NodeScoreData(f"n{i}", total, {}) for i, total in enumerate(totals, 1)))


def preemption(*candidates: tuple[str, int, int], nominated: int = 1, terminating: int = 0) -> PreemptionData:
    found = tuple(
        CandidateData(name, names, violations, "", names[:terminating])
        for name, victims, violations in candidates
        for names in [tuple(f"ns/p{i}" for i in range(victims))]
    )
    return PreemptionData(FAILED, tuple(c.name for c in found[:nominated]), found)


@pytest.mark.parametrize(
    ("verdict", "more", "text"),
    [
        (
            scheduled("n1", picked="n1"),
            {"scores": scores(512, 498)},
            "shop/web fits on 5 of 9 nodes and is scheduled to n1 (score 512, next best n2 with 498).",
        ),
        (
            scheduled("n1", feasible=1, picked="n1"),
            {"scores": scores(512)},
            "shop/web fits on 1 of 9 nodes and is scheduled to n1.",
        ),
        (
            scheduled("n1", "n2"),
            {"scores": scores(512, 512, 3)},
            "shop/web fits on 5 of 9 nodes and is scheduled to one of n1 and n2 (score 512 each; kube-scheduler picks "
            "at random).",
        ),
        (
            scheduled("n1", "n2", picked="n2"),
            {"scores": scores(512, 512)},
            "shop/web fits on 5 of 9 nodes and is scheduled to n2 (score 512, chosen by the seed; also possible: n1).",
        ),
        (NOWHERE, {}, "shop/web fits on none of 9 nodes."),
        (
            NOWHERE,
            {"preemption": preemption(nominated=0)},
            "shop/web fits on none of 9 nodes. Preemption would not help.",
        ),
        (
            NOWHERE,
            {"preemption": preemption(("n1", 1, 0))},
            "shop/web fits on none of 9 nodes. Preemption would help: n1, evicting ns/p0.",
        ),
        (
            NOWHERE,
            {"preemption": preemption(("n1", 3, 2))},
            "shop/web fits on none of 9 nodes. Preemption would help: n1, evicting 3 pods, 2 of them in violation of a "
            "disruption budget.",
        ),
        (
            NOWHERE,
            {"preemption": preemption(("n1", 1, 0), terminating=1)},
            "shop/web fits on none of 9 nodes. Preemption would help: n1, evicting ns/p0, already being deleted.",
        ),
        (
            NOWHERE,
            {"preemption": preemption(("n1", 3, 0), terminating=1)},
            "shop/web fits on none of 9 nodes. Preemption would help: n1, evicting 3 pods, 1 of them already being "
            "deleted.",
        ),
        (
            NOWHERE,
            {"preemption": preemption(("n1", 1, 0), ("n2", 1, 0), nominated=2)},
            "shop/web fits on none of 9 nodes. Preemption would help: n1 or n2, evicting 1 pod.",
        ),
        (
            VerdictData(Outcome.GATED, "", (), None, 3, ""),
            {"gate": "waiting for x"},
            "shop/web is not tried: waiting for x. Otherwise it would fit on 3 of 9 nodes.",
        ),
        (
            VerdictData(Outcome.ERROR, "", (), None, 0, "no nodes"),
            {},
            "kube-scheduler returns an error for shop/web: no nodes",
        ),
    ],
    ids=[
        "a winner",
        "a single node",
        "a tie",
        "a tie with a seed",
        "nowhere",
        "preemption does not help",
        "one victim",
        "several victims",
        "a victim that is being deleted",
        "a victim of several that is being deleted",
        "several nodes",
        "gated",
        "an error",
    ],
)
def test_summary(verdict: VerdictData, more: dict[str, Any], text: str) -> None:
    given: dict[str, Any] = {"gate": "", "scores": None, "preemption": None, **more}
    assert summary(POD, verdict, n_nodes=9, **given) == text


def test_pod_that_runs() -> None:
    pod = replace(POD, node_name="n7")
    found = summary(pod, NOWHERE, n_nodes=1, gate="", scores=None, preemption=None, binding="runs on n7")
    assert found == "shop/web runs on n7. If rescheduled, it fits on none of 1 node."


def test_nominated_node() -> None:
    pod = replace(POD, nominated_node_name="n1")
    found = summary(pod, scheduled("n1", picked="n1"), n_nodes=9, gate="", scores=scores(5, 4), preemption=None)
    assert found == "shop/web fits on 5 of 9 nodes and is scheduled to n1, the node it is nominated to."


def test_a_pod_that_may_not_evict_is_not_told_that_evicting_would_not_help() -> None:
    never = replace(preemption(nominated=0), status=replace(FAILED, reasons=(NEVER,)))
    text = summary(POD, NOWHERE, n_nodes=9, gate="", scores=None, preemption=never)
    assert text == "shop/web fits on none of 9 nodes. It cannot preempt: its preemptionPolicy is Never."


def test_the_cause_is_in_the_first_line() -> None:
    text = summary(POD, NOWHERE, n_nodes=2, gate="", scores=None, preemption=None, cause="no node offers x")
    assert text == "shop/web fits on none of 2 nodes: no node offers x."
