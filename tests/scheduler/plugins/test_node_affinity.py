from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.objects.selectors import Requirement
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.plugins.node_affinity import UnmetNodeAffinity, UnmetNodeSelector
from tests.builders import (
    decide,
    fitting,
    make_args,
    make_cluster,
    make_node,
    make_pod,
    raw_scores,
    reason,
    said,
    scores,
    told,
)
from tests.reference import node_affinity as reference
from tests.strategies import labelled_nodes, pods

PLUGIN = "NodeAffinity"
POD = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) didn't match Pod's node affinity/selector",))
ENFORCED = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) didn't match scheduler-enforced node affinity",))
NODES = [
    make_node("ssd4", labels={"disk": "ssd", "cores": "4"}),
    make_node("hdd8", labels={"disk": "hdd", "cores": "8"}),
    make_node("bare"),
]


def requirement(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def term(*expressions: dict[str, Any], fields: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"matchExpressions": list(expressions), "matchFields": fields or []}


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}


def preferred(*weighted: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    terms = [{"weight": weight, "preference": preference} for weight, preference in weighted]
    return {"preferredDuringSchedulingIgnoredDuringExecution": terms}


def pod_with(affinity: dict[str, Any], **spec: Any) -> Any:
    return make_pod(affinity={"nodeAffinity": affinity}, **spec)


@pytest.mark.parametrize(
    ("expression", "fits"),
    [
        pytest.param(requirement("disk", "In", "ssd", "nvme"), "ssd4", id="In: one of the values"),
        pytest.param(requirement("disk", "NotIn", "ssd"), "hdd8 bare", id="NotIn: also nodes without the label"),
        pytest.param(requirement("disk", "Exists"), "ssd4 hdd8", id="Exists"),
        pytest.param(requirement("disk", "DoesNotExist"), "bare", id="DoesNotExist"),
        pytest.param(requirement("cores", "Gt", "4"), "hdd8", id="Gt: strictly more"),
        pytest.param(requirement("cores", "Lt", "8"), "ssd4", id="Lt: strictly less"),
        pytest.param(requirement("disk", "Gt", "1"), "", id="Gt: a label that is no number never matches"),
        pytest.param(requirement("disk", "Near", "ssd"), "", id="an unknown operator matches nothing"),
        pytest.param(requirement("disk", "In"), "", id="In without values matches nothing"),
        pytest.param(requirement("cores", "Gt", "many"), "", id="Gt with a word matches nothing"),
    ],
)
def test_operators(expression: dict[str, Any], fits: str) -> None:
    assert fitting(decide(pod_with(required(term(expression))), make_cluster(NODES)), PLUGIN) == fits


SSD = requirement("disk", "In", "ssd")
HDD = requirement("disk", "In", "hdd")
FOUR = requirement("cores", "In", "4")
EIGHT = requirement("cores", "In", "8")


@pytest.mark.parametrize(
    ("affinity", "fits"),
    [
        pytest.param(required(term(SSD, FOUR)), "ssd4", id="all requirements of a term"),
        pytest.param(required(term(SSD, EIGHT)), "", id="none where one of them fails"),
        pytest.param(required(term(SSD, FOUR), term(HDD)), "ssd4 hdd8", id="any of the terms"),
        pytest.param(required(term()), "", id="an empty term matches nothing"),
        pytest.param(required(), "", id="no terms match nothing"),
        pytest.param(required(term(), term(HDD)), "hdd8", id="an empty term beside another is passed over"),
        pytest.param(
            required(term(requirement("disk", "Near")), term(HDD)), "hdd8", id="a broken term too is passed over"
        ),
    ],
)
def test_terms(affinity: dict[str, Any], fits: str) -> None:
    assert fitting(decide(pod_with(affinity), make_cluster(NODES)), PLUGIN) == fits


@pytest.mark.parametrize(
    ("selector", "fits"),
    [
        pytest.param({"disk": "ssd"}, "ssd4", id="one label"),
        pytest.param({"disk": "ssd", "cores": "8"}, "", id="all labels"),
        pytest.param({"disk": ""}, "", id="an absent label is not an empty one"),
    ],
)
def test_node_selector(selector: dict[str, str], fits: str) -> None:
    assert fitting(decide(make_pod(nodeSelector=selector), make_cluster(NODES)), PLUGIN) == fits


def test_node_selector_and_affinity_must_both_hold() -> None:
    pod = pod_with(required(term(requirement("disk", "Exists"))), nodeSelector={"cores": "8"})
    assert fitting(decide(pod, make_cluster(NODES)), PLUGIN) == "hdd8"


def name_field(operator: str, *values: str) -> dict[str, Any]:
    return requirement("metadata.name", operator, *values)


@pytest.mark.parametrize(
    ("affinity", "searched"),
    [
        pytest.param(required(term(fields=[name_field("In", "bare")])), {"bare"}, id="a name"),
        pytest.param(
            required(term(fields=[name_field("In", "bare")]), term(fields=[name_field("In", "ssd4")])),
            {"bare", "ssd4"},
            id="a name in every term",
        ),
        pytest.param(
            required(term(fields=[name_field("In", "bare")]), term(SSD)), None, id="a term without a name is open"
        ),
        pytest.param(required(term(fields=[name_field("NotIn", "bare")])), None, id="all names but one are open"),
        pytest.param(required(term(fields=[name_field("In", "gone")])), {"gone"}, id="a name that is not there"),
    ],
)
def test_names_narrow_the_search(affinity: dict[str, Any], searched: set[str] | None) -> None:
    decision = decide(pod_with(affinity), make_cluster(NODES))
    assert decision.pre_filter is not None
    assert decision.pre_filter.node_names == searched


def test_two_names_in_one_term_conflict() -> None:
    conflict = term(fields=[name_field("In", "bare"), name_field("In", "ssd4")])
    decision = decide(pod_with(required(conflict)), make_cluster(NODES))
    assert decision.pre_filter is not None
    text = "pod affinity terms conflict"
    assert decision.pre_filter.status == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,), PLUGIN)


@pytest.mark.parametrize(
    ("fields", "fits"),
    [
        pytest.param([name_field("NotIn", "bare")], "ssd4 hdd8", id="all names but one"),
        pytest.param([name_field("NotIn", "a", "b")], "", id="two values are not allowed and match nothing"),
        pytest.param([name_field("Exists")], "", id="other operators match nothing"),
        pytest.param([requirement("spec.unschedulable", "In", "")], "ssd4 hdd8 bare", id="unknown fields are empty"),
        pytest.param([requirement("spec.unschedulable", "In", "true")], "", id="and equal to nothing else"),
    ],
)
def test_fields(fields: list[dict[str, Any]], fits: str) -> None:
    assert fitting(decide(pod_with(required(term(fields=fields))), make_cluster(NODES)), PLUGIN) == fits


def test_affinity_added_by_the_profile() -> None:
    config = make_args(NodeAffinity={"addedAffinity": required(term(SSD))})
    decision = decide(make_pod(nodeSelector={"cores": "8"}), make_cluster(NODES), config=config)
    # The profile's requirement is looked at first.
    assert {name: said(decision, PLUGIN, name) for name in ("ssd4", "hdd8", "bare")} == {
        "ssd4": POD,
        "hdd8": ENFORCED,
        "bare": ENFORCED,
    }


def test_a_pod_without_requirements_skips_the_filter() -> None:
    assert PLUGIN in decide(make_pod(), make_cluster(NODES)).state.skip_filter_plugins


@pytest.mark.parametrize(
    ("pod", "node", "detail"),
    [
        pytest.param(
            make_pod(nodeSelector={"disk": "nvme"}),
            "ssd4",
            "nodeSelector wants disk=nvme, node has disk=ssd",
            id="another value",
        ),
        pytest.param(
            make_pod(nodeSelector={"disk": "nvme"}), "bare", "nodeSelector wants disk=nvme, node has no disk", id="none"
        ),
        pytest.param(
            pod_with(required(term(SSD, EIGHT), term(requirement("gpu", "Exists")))),
            "ssd4",
            "affinity wants cores=8 or gpu, node has cores=4, no gpu",
            id="what every term lacks",
        ),
        pytest.param(
            pod_with(required(term(fields=[name_field("NotIn", "bare")]))),
            "bare",
            "affinity wants metadata.name notin (bare)",
            id="a name",
        ),
    ],
)
def test_details(pod: Any, node: str, detail: str) -> None:
    found = reason(decide(pod, make_cluster(NODES)), PLUGIN, node)
    assert found.detail == detail
    assert (found.text,) == POD.reasons


@pytest.mark.parametrize(
    ("affinity", "added", "raw", "normalized"),
    [
        pytest.param(preferred((3, term(SSD))), {}, (3, 0, 0), (100, 0, 0), id="one preference"),
        pytest.param(
            preferred((3, term(SSD)), (2, term(requirement("disk", "Exists")))),
            {},
            (5, 2, 0),
            (100, 40, 0),  # 100 * 2 // 5
            id="weights add up",
        ),
        pytest.param(
            preferred((3, term(SSD))), preferred((6, term(HDD))), (3, 6, 0), (50, 100, 0), id="the profile's count too"
        ),
        pytest.param(preferred((3, term(requirement("x", "Exists")))), {}, (0, 0, 0), (0, 0, 0), id="nothing matches"),
        pytest.param(preferred((0, term(requirement("x", "Near")))), {}, (0, 0, 0), (0, 0, 0), id="weight 0 is unread"),
        pytest.param(preferred((3, term())), {}, (0, 0, 0), (0, 0, 0), id="an empty preference matches nothing"),
        pytest.param(
            preferred((3, term(SSD)), (4, term(fields=[name_field("In", "bare")]))),
            {},
            (3, 0, 4),
            (75, 0, 100),
            id="names can be preferred",
        ),
    ],
)
def test_preferences(
    affinity: dict[str, Any], added: dict[str, Any], raw: tuple[int, ...], normalized: tuple[int, ...]
) -> None:
    config = make_args(NodeAffinity={"addedAffinity": added}) if added else None
    decision = decide(pod_with(affinity), make_cluster(NODES), config=config)
    names = ("ssd4", "hdd8", "bare")
    assert raw_scores(decision, PLUGIN) == dict(zip(names, raw, strict=True))
    assert scores(decision, PLUGIN) == dict(zip(names, normalized, strict=True))


def test_without_preferences_scoring_is_skipped() -> None:
    decision = decide(pod_with(required(term(SSD))), make_cluster(NODES))
    assert raw_scores(decision, PLUGIN) is None


def test_a_broken_preference_ends_the_cycle_with_an_error() -> None:
    decision = decide(pod_with(preferred((3, term(requirement("disk", "Near"))))), make_cluster(NODES))
    assert decision.best == ()
    assert decision.error.startswith('running PreScore plugin "NodeAffinity": [0].matchExpressions[0].operator')


@given(st.data())
def test_equals_the_slow_reference(data: st.DataObject) -> None:
    nodes = data.draw(labelled_nodes())
    pod = data.draw(pods("nodeSelector", "nodeAffinity"))
    decision = decide(pod, make_cluster(nodes))
    fits = [node for node in nodes if reference.fits(pod, node)]
    if decision.statuses is not None and decision.statuses.snapshot is not None:
        assert fitting(decision, PLUGIN).split() == [node.name for node in fits]
    if fits and raw_scores(decision, PLUGIN) is not None:
        assert scores(decision, PLUGIN) == reference.scores(pod, fits)


@pytest.mark.parametrize(
    ("operands", "words", "data"),
    [
        pytest.param(
            UnmetNodeSelector(Requirement("disk", "In", ("ssd",)), "hdd"),
            "nodeSelector wants disk=ssd, node has disk=hdd",
            {"requirement": "disk=ssd", "has": "hdd"},
            id="another value",
        ),
        pytest.param(
            UnmetNodeSelector(Requirement("disk", "In", ("ssd",)), None),
            "nodeSelector wants disk=ssd, node has no disk",
            {"requirement": "disk=ssd", "has": None},
            id="no such label",
        ),
        pytest.param(
            UnmetNodeAffinity(
                (Requirement("zone", "NotIn", ("a",)), Requirement("cores", "Gt", ("8",))),
                (),
                {"zone": "a", "cores": None},
            ),
            "affinity wants zone notin (a) or cores > 8, node has zone=a, no cores",
            {"unmet": ["zone notin (a)", "cores > 8"]},
            id="two terms",
        ),
        pytest.param(
            UnmetNodeAffinity((Requirement("zone", "In", ("a",)),) * 2, (), {"zone": "b"}),
            "affinity wants zone=a, node has zone=b",
            {"unmet": ["zone=a", "zone=a"]},
            id="the same of two terms",
        ),
        pytest.param(
            UnmetNodeAffinity((), (Requirement("metadata.name", "In", ("a",)),), {}),
            "affinity wants metadata.name=a",
            {"unmet": ["metadata.name=a"]},
            id="by name",
        ),
        pytest.param(
            UnmetNodeAffinity((), (), {}),
            "no term of the affinity can match a node",
            {"unmet": []},
            id="nothing could match",
        ),
    ],
)
def test_operands(operands: Operands, words: str, data: dict[str, Any]) -> None:
    assert told(operands) == (words, data)
