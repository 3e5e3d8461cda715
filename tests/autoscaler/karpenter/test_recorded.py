"""Every recorded answer of Karpenter's provisioner is ours: fates, NodeClaims and the texts of errors."""

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kschedctl.objects.quantity import parse_quantity
from kschedctl.questions.batch.provisioning import ProvisioningCase, plan_answer, plan_of

RECORDED = Path(__file__).parents[3] / "fixtures" / "conformance" / "karpenter"
THEMES = ("mixed", "pods", "pools")


def lines(kind: str, theme: str) -> list[Any]:
    text = gzip.decompress((RECORDED / kind / f"{theme}.jsonl.gz").read_bytes())
    return [json.loads(line) for line in text.splitlines()]


def compared(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of an answer that do not depend on the notation of amounts and on the order of pods."""
    claims = [
        {
            **{part: claim.get(part) for part in ("nodePool", "requirements", "instanceTypes", "pods")},
            "requests": {name: parse_quantity(text) for name, text in claim["requests"].items()},
        }
        for claim in answer.get("claims", [])
    ]
    return {
        "pods": answer.get("pods", {}),
        "claims": claims,
        "events": answer.get("nodePoolEvents", []),
        "waiting": answer.get("waiting", False),
    }


@pytest.mark.parametrize("theme", THEMES)
def test_answers_equal_the_recorded_ones(theme: str) -> None:
    recorded = {answer["id"]: compared(answer) for answer in lines("answers", theme)}
    cases = [msgspec.convert(case, ProvisioningCase) for case in lines("cases", theme)]
    wrong = [case.id for case in cases if compared(plan_answer(case.id, plan_of(case))) != recorded[case.id]]
    assert wrong == []
    assert len(cases) == 100


@pytest.mark.parametrize("theme", THEMES)
def test_new_nodes_hold_their_pods_and_no_pool_exceeds_its_limit(theme: str) -> None:
    """The largest type of each node is counted against limits; only the number of nodes is not limited in a round."""
    for case in (msgspec.convert(each, ProvisioningCase) for each in lines("cases", theme)):
        for node in plan_of(case).nodes:
            for kind in node.types:
                room = {name: parse_quantity(text) for name, text in kind.capacity.items()}
                assert all(amount <= room.get(name, 0) for name, amount in node.requests.items()), (case.id, kind.name)
