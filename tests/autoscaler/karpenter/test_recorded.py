"""Every recorded answer of Karpenter is ours: fates, NodeClaims, texts of errors, and what is done with nodes."""

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import kschedctl
from kschedctl.objects.quantity import parse_quantity
from kschedctl.questions.batch.provisioning import ProvisioningCase, case_answer, plan_answer, plan_of
from kschedctl.sources.snapshot.anonymize import anonymized
from kschedctl.sources.snapshot.capture import capture, write_capture
from kschedctl.sources.snapshot.load import SnapshotReader

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


#: As many nodes as Karpenter allows to disrupt if no budget is active.
_ANY = 2**31 - 1
_NO_PLACE = "Not all pods would schedule, "


def is_said(said: str, events: list[str]) -> bool:
    """Report whether a reason is one of the recorded Events.

    Of several pods without a place, Karpenter names the first five in the order of a map, and we name one.
    """
    texts = [each.partition(": ")[2] for each in events]
    if said.startswith(_NO_PLACE):
        return any(text.startswith(_NO_PLACE) and said.removeprefix(_NO_PLACE) in text for text in texts)
    return said in texts if said else not texts


def test_what_is_done_with_nodes_equals_the_recorded_answers() -> None:
    recorded = {answer["id"]: answer for answer in lines("answers", "disruption")}
    n_nodes = 0
    for case in (msgspec.convert(each, ProvisioningCase) for each in lines("cases", "disruption")):
        found, expected = case_answer(case), recorded[case.id]
        for name, node in found["disruption"].items():
            known = expected["disruption"].get(name, {"decision": "none"})
            n_nodes += 1
            where = case.id, name
            assert node["decision"] == known["decision"].replace("none", "keep"), where
            assert node.get("reason") == known.get("reason"), where
            assert is_said(node.get("said", ""), known.get("events", [])), (where, node["said"], known["events"])
            claims = [each.get("claim", {}) for each in (node, known)]
            assert all(claims[0].get(part) == claims[1].get(part) for part in ("nodePool", "instanceTypes")), where
        for reason, pools in expected["budgets"].items():
            assert {each: _ANY if n is None else n for each, n in found["budgets"][reason].items()} == pools, case.id
    assert n_nodes > 100


@pytest.mark.parametrize("anonymous", [False, True])
def test_a_captured_snapshot_answers_as_its_source(anonymous: bool, tmp_path: Path) -> None:
    """Annotations, conditions and the NodeClaim of each node survive ``kschedctl snapshot``; names do not matter."""
    for case in lines("cases", "disruption"):
        source, target = tmp_path / f"{case['id']}.json", tmp_path / case["id"]
        objects = [each for part in case.values() if isinstance(part, list) for each in part if "kind" in each]
        source.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        captured = capture(SnapshotReader([source]))
        write_capture(anonymized(captured) if anonymous else captured, target)
        answers = [kschedctl.load(str(each)).consolidate().nodes for each in (source, target)]
        decisions = [sorted((each.decision, each.now) for each in nodes) for nodes in answers]
        assert decisions[0] == decisions[1] if anonymous else answers[0] == answers[1], case["id"]
