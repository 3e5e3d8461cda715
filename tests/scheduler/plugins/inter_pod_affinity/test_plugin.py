from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import RELEASES
from kschedctl.objects.selectors import Requirement
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.plugins.inter_pod_affinity.filtering import (
    ExistingAntiAffinity,
    NominatedPodInTheWay,
    NoPodNear,
    OwnAntiAffinity,
)
from kschedctl.scheduler.plugins.inter_pod_affinity.plugin import InterPodAffinity
from tests.builders import (
    HOSTNAME,
    ZONE,
    decide,
    fitting,
    make_args,
    make_cluster,
    make_namespace,
    make_node,
    make_pod,
    raw_scores,
    reason,
    said,
    scores,
    told,
)
from tests.reference import inter_pod_affinity as reference
from tests.strategies import NAMESPACES, pods, worlds

PLUGIN = "InterPodAffinity"
AFFINITY = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) didn't match pod affinity rules",))
ANTI_AFFINITY = Status(Code.UNSCHEDULABLE, ("node(s) didn't match pod anti-affinity rules",))
EXISTING = Status(Code.UNSCHEDULABLE, ("node(s) didn't satisfy existing pods anti-affinity rules",))
WEB, DB = {"app": "web"}, {"app": "db"}
#: Two nodes in zone a, one in zone b, one in no zone.
NODES = [make_node("a1", zone="a"), make_node("a2", zone="a"), make_node("b1", zone="b"), make_node("none")]
NAMES = ("a1", "a2", "b1", "none")
TEAMS = [make_namespace("default", team="x"), make_namespace("shop", team="x"), make_namespace("bank", team="y")]


def term(labels: dict[str, str] | None = None, key: str = ZONE, **fields: Any) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": WEB if labels is None else labels}, **fields}


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}


def preferred(*weighted: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    terms = [{"weight": weight, "podAffinityTerm": wanted} for weight, wanted in weighted]
    return {"preferredDuringSchedulingIgnoredDuringExecution": terms}


def near(affinity: dict[str, Any], name: str = "pod", **fields: Any) -> Pod:
    return make_pod(name, affinity={"podAffinity": affinity}, **fields)


def far(affinity: dict[str, Any], name: str = "pod", **fields: Any) -> Pod:
    return make_pod(name, affinity={"podAntiAffinity": affinity}, **fields)


def web(node: str, name: str = "web", **fields: Any) -> Pod:
    return make_pod(name, node=node, **{"labels": WEB, **fields})


@pytest.mark.parametrize(
    ("pod", "others", "fits"),
    [
        pytest.param(near(required(term())), [web("a1")], "a1 a2", id="the whole domain of a match"),
        pytest.param(near(required(term(key=HOSTNAME))), [web("a1")], "a1", id="a node as domain"),
        pytest.param(near(required(term())), [web("a1"), web("b1", "web2")], "a1 a2 b1", id="any domain with a match"),
        pytest.param(near(required(term())), [], "", id="no match anywhere"),
        pytest.param(near(required(term())), [web("none")], "", id="a match outside all domains is none"),
        pytest.param(near(required(term({}))), [make_pod("any", node="b1")], "b1", id="an empty selector: any pod"),
        pytest.param(near(required(term(labelSelector=None))), [web("a1")], "", id="no selector means no pod"),
        pytest.param(
            near(required(term(), term(DB))),
            [web("a1"), make_pod("db", node="a2", labels=DB)],
            "",
            id="one pod must match all terms",
        ),
        pytest.param(
            near(required(term(), term({"tier": "x"}, key=HOSTNAME))),
            [web("a1", labels={**WEB, "tier": "x"})],
            "a1",
            id="each term has its own domain",
        ),
        # The first of a series of pods that match their own affinity.
        pytest.param(near(required(term()), labels=WEB), [], "a1 a2 b1", id="the first may go to any labelled node"),
        pytest.param(near(required(term()), labels=WEB), [web("a1")], "a1 a2", id="the second goes where the first is"),
        pytest.param(near(required(term()), labels=WEB), [web("none")], "a1 a2 b1", id="one outside counts as none"),
        pytest.param(near(required(term(), term(DB)), labels=WEB), [], "", id="it must match all of its terms itself"),
        pytest.param(
            near(required(term(namespaces=["shop"])), labels=WEB), [], "", id="in the namespaces that they name"
        ),
        # Anti-affinity.
        pytest.param(far(required(term())), [], "a1 a2 b1 none", id="nothing to avoid"),
        pytest.param(far(required(term())), [web("a1")], "b1 none", id="the whole domain of a match"),
        pytest.param(far(required(term(key=HOSTNAME))), [web("a1")], "a2 b1 none", id="a node as domain"),
        pytest.param(
            far(required(term(), term(DB))),
            [web("a1"), make_pod("db", node="b1", labels=DB)],
            "none",
            id="each term on its own",
        ),
        pytest.param(far(required(term()), labels=WEB), [], "a1 a2 b1 none", id="the pod does not avoid itself"),
        # Anti-affinity of pods that are there.
        pytest.param(make_pod(labels=WEB), [far(required(term()), "o", node="a1")], "b1 none", id="its whole domain"),
        pytest.param(
            make_pod(labels=DB), [far(required(term()), "o", node="a1")], "a1 a2 b1 none", id="if it is meant"
        ),
        pytest.param(
            make_pod(labels=WEB), [far(required(term()), "o", node="none")], "a1 a2 b1 none", id="a pod in no domain"
        ),
        pytest.param(
            make_pod(labels=WEB),
            [far(required(term()), "o", node="a1", namespace="shop")],
            "a1 a2 b1 none",
            id="a pod of another namespace means its own",
        ),
        pytest.param(
            make_pod(labels=WEB),
            [far(required(term(namespaces=["default"])), "o", node="a1", namespace="shop")],
            "b1 none",
            id="unless it names this one",
        ),
        pytest.param(
            make_pod(labels=WEB),
            [near(required(term()), "o", node="a1")],
            "a1 a2 b1 none",
            id="affinity of others binds nobody",
        ),
    ],
)
def test_required_terms(pod: Pod, others: list[Pod], fits: str) -> None:
    assert fitting(decide(pod, make_cluster(NODES, others)), PLUGIN) == fits


@pytest.mark.parametrize(
    ("fields", "avoided"),
    [
        # Web pods of namespaces default, shop (both of team x), bank (of team y) run on n1, n2, n3.
        pytest.param({}, "n1", id="the pod's own by default"),
        pytest.param({"namespaces": ["shop"]}, "n2", id="those that are named, then without its own"),
        pytest.param({"namespaceSelector": {"matchLabels": {"team": "x"}}}, "n1 n2", id="those selected"),
        pytest.param({"namespaceSelector": {}}, "n1 n2 n3", id="all with an empty selector"),
        pytest.param(
            {"namespaces": ["bank"], "namespaceSelector": {"matchLabels": {"team": "x"}}}, "n1 n2 n3", id="both"
        ),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "bank"}}},
            "n3",
            id="every namespace has its name as label",
        ),
        pytest.param(
            {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["x"]}]}},
            "n1 n2 n3",
            id="a negative selector means all, as no labels satisfy it",
        ),
    ],
)
def test_namespaces(fields: dict[str, Any], avoided: str) -> None:
    nodes = [make_node(name) for name in ("n1", "n2", "n3")]
    others = [web("n1"), web("n2", namespace="shop"), web("n3", namespace="bank")]
    decision = decide(far(required(term(key=HOSTNAME, **fields))), make_cluster(nodes, others, *TEAMS))
    assert [name for name in ("n1", "n2", "n3") if said(decision, PLUGIN, name) == ANTI_AFFINITY] == avoided.split()


@pytest.mark.parametrize(
    ("selector", "fits"),
    [
        pytest.param({"matchLabels": {"team": "x"}}, "b1 none", id="labels of the pod's namespace"),
        pytest.param({"matchLabels": {"team": "y"}}, "a1 a2 b1 none", id="other labels"),
        pytest.param(
            {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["x"]}]},
            "a1 a2 b1 none",
            id="a negative selector is matched against the labels",
        ),
    ],
)
def test_namespace_selectors_of_pods_that_are_there(selector: dict[str, Any], fits: str) -> None:
    other = far(required(term(namespaceSelector=selector)), "o", node="a1", namespace="bank")
    decision = decide(make_pod(labels=WEB), make_cluster(NODES, [other], *TEAMS))
    assert fitting(decision, PLUGIN) == fits


def test_affinity_is_judged_before_anti_affinity_before_that_of_others() -> None:
    affinity = {"podAffinity": required(term(key="rack")), "podAntiAffinity": required(term())}
    others = [
        web("r1", "w1"),
        web("r2", "w2"),
        make_pod("h2", node="r2", affinity={"podAntiAffinity": required(term(DB, key=HOSTNAME))}),
        make_pod("h3", node="r3", affinity={"podAntiAffinity": required(term(DB, key=HOSTNAME))}),
    ]
    nodes = [
        make_node("r0", zone="z1"),
        make_node("r1", zone="z2", labels={"rack": "r"}),
        make_node("r2", zone="z3", labels={"rack": "r"}),
        make_node("r3", zone="z4", labels={"rack": "r"}),
        make_node("r4", zone="z5", labels={"rack": "r"}),
    ]
    decision = decide(make_pod(labels=DB, affinity=affinity), make_cluster(nodes, others))
    assert {name: said(decision, PLUGIN, name) for name in ("r0", "r1", "r2", "r3", "r4")} == {
        "r0": AFFINITY,
        "r1": ANTI_AFFINITY,
        "r2": ANTI_AFFINITY,
        "r3": EXISTING,
        "r4": Status(),
    }


@pytest.mark.parametrize(
    ("pod", "others", "node", "detail"),
    [
        pytest.param(near(required(term())), [web("a1")], "none", f"node has no label {ZONE}", id="no label"),
        pytest.param(near(required(term())), [web("a1")], "b1", f"no pod with app=web in {ZONE}=b", id="no match"),
        pytest.param(near(required(term({}))), [web("a1")], "b1", f"no pod in {ZONE}=b", id="no pod at all"),
        pytest.param(
            far(required(term())),
            [web("a1")],
            "a2",
            f"default/web in {ZONE}=a matches the pod's anti-affinity",
            id="a match to avoid",
        ),
        pytest.param(
            far(required(term())),
            [web("a1"), web("a2", "web2")],
            "a2",
            f"default/web and 1 more in {ZONE}=a matches the pod's anti-affinity",
            id="two of them",
        ),
        pytest.param(
            make_pod(labels=WEB),
            [far(required(term()), "loner", node="a1")],
            "a2",
            f"anti-affinity of default/loner in {ZONE}=a matches the pod",
            id="a pod that wants to be alone",
        ),
    ],
)
def test_details(pod: Pod, others: list[Pod], node: str, detail: str) -> None:
    assert reason(decide(pod, make_cluster(NODES, others)), PLUGIN, node).detail == detail


def test_a_nominated_pod_counts_on_its_own_node() -> None:
    waiting = make_pod("waiting", nominated="a1", labels=WEB)
    decision = decide(far(required(term(key=HOSTNAME))), make_cluster(NODES, [waiting]))
    assert decision.node("a1").status == Status(Code.UNSCHEDULABLE, ANTI_AFFINITY.reasons, PLUGIN)
    assert reason(decision, PLUGIN, "a1").detail == f"a pod nominated to the node, by {HOSTNAME}"
    assert decision.node("a2").feasible


def test_a_pod_without_terms_among_others_without_terms_skips() -> None:
    decision = decide(make_pod(labels=WEB), make_cluster(NODES, [web("a1")]))
    assert PLUGIN in decision.state.skip_filter_plugins
    assert scores(decision, PLUGIN) is None


def test_a_broken_selector_turns_the_pod_away() -> None:
    broken = {"matchExpressions": [{"key": "app", "operator": "Near"}]}
    decision = decide(near(required(term(labelSelector=broken))), make_cluster(NODES))
    assert decision.pre_filter is not None
    status = decision.pre_filter.status
    assert (status.code, status.plugin) == (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, PLUGIN)
    assert status.message.startswith("parsing pod: requiredAffinityTerms.matchExpressions[0].operator")


@pytest.mark.parametrize(
    ("pod", "others", "raw", "normalized"),
    [
        # Nodes a1 a2 b1 none; 100 * (raw - least) / (most - least).
        pytest.param(near(preferred((5, term()))), [web("a1")], (5, 5, 0, 0), (100, 100, 0, 0), id="a domain"),
        pytest.param(
            near(preferred((5, term()))),
            [web("a1"), web("a2", "w2"), web("b1", "w3")],
            (10, 10, 5, 0),
            (100, 100, 50, 0),
            id="every match counts",
        ),
        pytest.param(
            near(preferred((5, term()), (2, term(key=HOSTNAME)))),
            [web("a1")],
            (7, 5, 0, 0),
            (100, 71, 0, 0),
            id="terms add up: 100 * 5 / 7",
        ),
        pytest.param(
            far(preferred((5, term()))), [web("a1")], (-5, -5, 0, 0), (0, 0, 100, 100), id="anti-affinity counts down"
        ),
        pytest.param(
            make_pod(labels=WEB),
            [near(preferred((3, term())), "o", node="a1"), far(preferred((4, term())), "o2", node="b1")],
            (3, 3, -4, 0),
            (100, 100, 0, 57),
            id="what others prefer: 100 * 4 / 7",
        ),
        pytest.param(
            make_pod(labels=WEB),
            [near(required(term()), "o", node="a1")],
            (1, 1, 0, 0),
            (100, 100, 0, 0),
            id="what others require is worth 1",
        ),
        pytest.param(
            near(preferred((5, term())), labels=DB),
            [web("a1"), far(preferred((5, term(DB))), "o", node="a1")],
            (0, 0, 0, 0),
            (0, 0, 0, 0),
            id="evened out is not skipped",
        ),
    ],
)
def test_preferences(pod: Pod, others: list[Pod], raw: tuple[int, ...], normalized: tuple[int, ...]) -> None:
    decision = decide(pod, make_cluster(NODES, others))
    assert raw_scores(decision, PLUGIN) == dict(zip(NAMES, raw, strict=True))
    assert scores(decision, PLUGIN) == dict(zip(NAMES, normalized, strict=True))


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param({"hardPodAffinityWeight": 10}, {"a1": 13, "a2": 13, "b1": 0, "none": 0}, id="required 10 + 3"),
        pytest.param({"hardPodAffinityWeight": 0}, {"a1": 3, "a2": 3, "b1": 0, "none": 0}, id="required do not count"),
        pytest.param({"ignorePreferredTermsOfExistingPods": True}, None, id="others' terms are ignored altogether"),
    ],
)
def test_args(args: dict[str, Any], expected: dict[str, int] | None) -> None:
    other = near({**required(term()), **preferred((3, term()))}, "o", node="a1")
    decision = decide(make_pod(labels=WEB), make_cluster(NODES, [other]), config=make_args(InterPodAffinity=args))
    assert raw_scores(decision, PLUGIN) == expected


def test_required_terms_of_others_without_weight_mean_nobody() -> None:
    config = make_args(InterPodAffinity={"hardPodAffinityWeight": 0})
    decision = decide(
        make_pod(labels=WEB), make_cluster(NODES, [near(required(term()), "o", node="a1")]), config=config
    )
    assert raw_scores(decision, PLUGIN) is None


OF_TEAM_X = term(namespaceSelector={"matchLabels": {"team": "x"}})
SELECTING = required(OF_TEAM_X)


@pytest.mark.parametrize(
    ("pod", "before", "after", "old", "new"),
    [
        # default and shop are namespaces of team x, bank is one of team y.
        pytest.param(near(SELECTING), None, web("a1", namespace="shop"), False, True, id="a match comes"),
        pytest.param(near(SELECTING), None, web("a1", namespace="bank"), False, False, id="a pod elsewhere comes"),
        pytest.param(
            near(SELECTING), None, web("a1", namespace="gone"), False, True, id="its namespace is not known: it may be"
        ),
        pytest.param(
            near(SELECTING),
            web("a1", namespace="shop", labels=DB),
            web("a1", namespace="shop"),
            False,
            True,
            id="a pod becomes a match",
        ),
        pytest.param(far(SELECTING), web("a1", namespace="shop"), None, False, True, id="a match of far goes"),
        pytest.param(far(SELECTING), web("a1", namespace="bank"), None, False, False, id="a pod elsewhere goes"),
        pytest.param(
            make_pod(labels=WEB),
            far(SELECTING, "other", namespace="shop", node="a1"),
            None,
            False,
            True,
            id="a pod goes that avoids the namespace",
        ),
        pytest.param(
            near(required(term(namespaces=["shop"]))),
            None,
            web("a1", namespace="shop"),
            True,
            True,
            id="namespaces by name: in both",
        ),
    ],
)
def test_hints_for_namespace_selectors(pod: Pod, before: Pod | None, after: Pod | None, old: bool, new: bool) -> None:
    """In 1.37 a term with a selector of namespaces matches no pod of an event, in 1.38 it is looked up."""
    found = {}
    for version in ("1.37", "1.38"):
        framework = Scheduler(make_cluster(NODES, [], *TEAMS), RELEASES[version]).framework("default-scheduler")
        plugin = framework.plugin(PLUGIN)
        assert isinstance(plugin, InterPodAffinity)
        found[version] = plugin.after_pod_change(pod, before, after)
    assert found == {"1.37": old, "1.38": new}


def test_where_the_last_match_is_evicted_the_pod_is_the_first() -> None:
    # It does not fit beside the only pod that it wants to be near, and is meant by its own term.
    running = web("a1", requests={"cpu": "4"})
    nodes = [make_node("a1", zone="a"), make_node("b1", cpu="1", zone="b")]
    pod = near(required(term()), labels=WEB, requests={"cpu": "2"}, priority=5)
    decision = decide(pod, make_cluster(nodes, [running]))
    assert decision.post_filter is not None
    assert decision.post_filter.nominated == ("a1",)


@pytest.mark.parametrize(
    "others",
    [
        pytest.param([], id="no pods"),
        pytest.param([web("none")], id="a match in no domain"),
        pytest.param([make_pod("db", node="a1", labels=DB)], id="no match"),
    ],
)
def test_preferences_that_mean_nobody_skip(others: list[Pod]) -> None:
    assert raw_scores(decide(near(preferred((5, term()))), make_cluster(NODES, others)), PLUGIN) is None


@given(st.data())
def test_equals_the_slow_reference(data: st.DataObject) -> None:
    world = data.draw(worlds("podAffinity"))
    pod = data.draw(pods("podAffinity"))
    decision = decide(pod, world.cluster)
    statuses = {"fits": Status(), "affinity": AFFINITY, "anti-affinity": ANTI_AFFINITY, "existing": EXISTING}
    verdicts = reference.verdicts(pod, world.nodes, world.pods, NAMESPACES)
    assert {node: said(decision, PLUGIN, node) for node in verdicts} == {
        node: statuses[verdict] for node, verdict in verdicts.items()
    }
    feasible = [node for node in world.nodes if verdicts[node.name] == "fits"]
    if feasible:
        assert scores(decision, PLUGIN) == reference.scores(pod, world.nodes, world.pods, NAMESPACES, feasible)


@pytest.mark.parametrize(
    ("operands", "words", "data"),
    [
        pytest.param(
            NoPodNear("zone", "a", (Requirement("app", "In", ("db",)), Requirement("tier", "Exists"))),
            "no pod with app=db and tier in zone=a",
            {"topologyKey": "zone", "domain": "a", "selector": "app=db and tier"},
            id="no pod near",
        ),
        pytest.param(
            NoPodNear("zone", "a", ()),
            "no pod in zone=a",
            {"topologyKey": "zone", "domain": "a", "selector": "any pod"},
            id="no pod at all",
        ),
        pytest.param(
            NominatedPodInTheWay("zone", "a"),
            "a pod nominated to the node, by zone",
            {"topologyKey": "zone", "domain": "a"},
            id="nominated",
        ),
        pytest.param(
            OwnAntiAffinity("zone", "a", "shop/web", 3),
            "shop/web and 2 more in zone=a matches the pod's anti-affinity",
            {"topologyKey": "zone", "domain": "a", "pod": "shop/web", "pods": 3},
            id="unwanted",
        ),
        pytest.param(
            ExistingAntiAffinity("zone", "a", "shop/web", 1),
            "anti-affinity of shop/web in zone=a matches the pod",
            {"topologyKey": "zone", "domain": "a", "pod": "shop/web", "pods": 1},
            id="unwilling",
        ),
    ],
)
def test_operands(operands: Operands, words: str, data: dict[str, Any]) -> None:
    assert told(operands) == (words, data)
