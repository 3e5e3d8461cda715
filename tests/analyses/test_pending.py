"""The pods that wait, as data."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import jsonschema
import pytest

import kschedctl
from kschedctl.analyses.pending import explain_group, pending_answer
from kschedctl.analyses.provenance import provenance
from kschedctl.answers.pending import Pending
from kschedctl.answers.schema import schema
from kschedctl.render.json import as_json
from kschedctl.simulate.pending import pending_pods
from kschedctl.why.pending_groups import group_pending_pods
from kschedctl.why.unblocking_changes import unblock

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


def answer(most: int) -> Pending:
    cluster = kschedctl.load("fixtures/pending/cluster.yaml")
    scheduler = cluster.scheduler
    pods = [scheduler.cluster.pods.pod(index) for index in pending_pods(scheduler.cluster)]
    groups = group_pending_pods(scheduler, pods)
    found = unblock(scheduler, groups, most) if most else None
    explained = [explain_group(scheduler, group) for group in groups]
    return pending_answer(cluster.cluster, explained, found, provenance(cluster, many=True), NOW)


@pytest.mark.parametrize("most", [0, 3])
def test_answers_are_valid_by_the_schema(most: int) -> None:
    value = json.loads(as_json(answer(most)))
    jsonschema.validate(value, schema(), cls=jsonschema.Draft202012Validator)


def test_the_first_line_says_how_many_wait_and_what_would_help() -> None:
    assert answer(3).summary == (
        "11 pods are pending in 4 groups; the oldest for 2 d. Three changes would place 10 of them."
    )
    assert answer(0).summary == "11 pods are pending in 4 groups; the oldest for 2 d."


def test_names_are_those_of_the_pods() -> None:
    assert answer(0).names()[0] == "pod/shop/web-10"
