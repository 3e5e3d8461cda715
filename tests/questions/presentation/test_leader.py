"""The table of elections with holders and times of any size."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.objects.releases.choice import ChosenBy
from kschedctl.questions.answers.base import RulesData, SnapshotData
from kschedctl.questions.answers.leader import Election, ElectionState, LeaderOverview
from kschedctl.questions.presentation.frame import View
from kschedctl.questions.presentation.leader import overview_document
from tests.questions.presentation.printing import lines


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
