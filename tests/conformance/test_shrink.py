import json
from collections.abc import Callable
from typing import Any

from conformance import generate
from conformance.asking import ours
from conformance.differing import Difference, difference, to_follow
from conformance.jsonlines import Object
from conformance.shrink import shrink


def sees(wanted: Callable[[Object], bool], error: Callable[[Object], bool] = lambda case: False) -> Any:
    """A side that says whether it sees something in a case."""

    def said(case: Object) -> Object:
        if error(case):
            return {"id": case["id"], "error": "not a case"}
        return {"id": case["id"], "message": "seen" if wanted(case) else ""}

    return said


CASE: Object = {
    "id": "x",
    "objects": [
        {
            "kind": "Node",
            "metadata": {"name": "a", "labels": {"zone": "z1", "disk": "ssd"}},
            "spec": {"taints": [1, 2]},
        },
        {"kind": "Node", "metadata": {"name": "b"}},
    ],
    "pod": {"kind": "Pod", "metadata": {"name": "p", "labels": {"app": "web"}}, "spec": {"priority": 7}},
    "config": {"profiles": [{"schedulerName": "batch"}]},
}


def found(judge: Any, side: Any, case: Object = CASE) -> Difference:
    differing = difference(case, judge(case), side(case))
    assert differing is not None
    return differing


def test_objects_items_and_fields_go_and_identities_stay() -> None:
    judge, side = sees(lambda case: '"disk": "ssd"' in json.dumps(case)), sees(lambda case: False)
    assert shrink(found(judge, side), judge, side).case == {
        "id": "x",
        "objects": [{"kind": "Node", "metadata": {"name": "a", "labels": {"disk": "ssd"}}}],
        "pod": {"kind": "Pod", "metadata": {"name": "p"}},
    }


def test_what_is_no_longer_valid_does_not_count() -> None:
    judge = sees(lambda case: True, error=lambda case: "spec" not in case["pod"])
    side = sees(lambda case: False)
    assert shrink(found(judge, side), judge, side).case["pod"]["spec"] == {}


def test_the_configuration_stays_where_the_difference_is_in_it() -> None:
    judge, side = sees(lambda case: "batch" in json.dumps(case)), sees(lambda case: False)
    smallest = shrink(found(judge, side), judge, side)
    assert smallest.case["config"] == CASE["config"]
    assert smallest.case["objects"] == []
    assert list(smallest.parts) == ["summary", "message"]


def test_a_difference_between_two_releases_is_cut_down_to_its_cause() -> None:
    """1.34 lets RestartAllContainers land on any node, 1.36 wants a node that declares the feature."""
    judge, side = ours("1.34"), ours("1.36")
    cases = [case for case in generate.cases("features", 1, 12) if "restartPolicyRules" in json.dumps(case["pod"])]
    differing = [(case, difference(case, judge(case), side(case))) for case in cases]
    case, whole = next((case, d) for case, d in differing if d is not None and "filter" in d.parts)
    smallest = shrink(whole, judge, side)
    assert len(smallest.case["objects"]) == 1
    assert [one["kind"] for one in smallest.case["objects"]] == ["Node"]
    (container,) = [
        one
        for group in ("containers", "initContainers")
        for one in smallest.case["pod"]["spec"].get(group, ())
        if "restartPolicyRules" in one
    ]
    assert container["restartPolicyRules"] == [{"action": "RestartAllContainers"}]
    assert "filter" in smallest.parts
    assert len(json.dumps(smallest.case)) < len(json.dumps(case)) / 10


def test_a_sequence_is_cut_down_to_the_pods_that_differ() -> None:
    """The side sends the last pod nowhere, where the judge binds it after it has chosen among several nodes."""
    judge, asked = ours("1.36"), ours("1.36")
    case = next(case for case in generate.cases("sequence", 1, 12) if 4 <= len(case["pods"]) <= 8)
    name = next(made["pod"] for made in reversed(judge(case)["attempts"]) if made.get("node"))

    def side(one: Object) -> Object:
        said = asked(one)
        for made in said.get("attempts", ()):
            if made["pod"] == name:
                made.pop("node", None)
        return said

    expected = judge(case)
    whole = difference(case, expected, side(to_follow(case, expected)))
    assert whole is not None
    smallest = shrink(whole, judge, side)
    assert [f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in smallest.case["pods"]] == [name]
    assert [one["kind"] for one in smallest.case["objects"]] == ["Node"]
    assert list(smallest.case["choices"]) == [name]
    assert list(smallest.parts) == ["attempts"]


def test_stages_that_do_not_matter_are_left_out() -> None:
    def side(stage: str) -> Any:
        def said(case: Object) -> Object:
            seen = [{"pod": stage, "node": "n"}] if stage in str(case["then"]) else []
            return {"id": case["id"], "attempts": seen, "pods": {}}

        return said

    stages = [{"delete": [{"kind": "Pod", "namespace": "d", "name": name}]} for name in ("a", "b", "c")]
    case: Object = {"id": "x", "objects": [], "pods": [{"kind": "Pod", "metadata": {"name": "p"}}], "then": stages}
    judge, other = side("'b'"), side("nothing")
    assert shrink(found(judge, other, case), judge, other).case["then"] == [stages[1]]
