"""Completeness of suggestions: every single change of the tried kinds, one by one, over random small clusters."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from conformance import generate
from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import KschedctlError
from kschedctl.diagnosis.why.search import suggest
from kschedctl.objects.core import Taint
from kschedctl.objects.pod import CRITICAL_ADDONS_ONLY, NO_EXECUTE, NO_SCHEDULE, UNSAFE_TAINTS, Pod, Toleration
from kschedctl.objects.quantity import parse_quantity
from kschedctl.objects.releases.release import LATEST
from kschedctl.objects.selectors import NodeSelector
from kschedctl.objects.well_known import PLATFORM_LABELS
from kschedctl.questions.batch.cases import Case, decide
from kschedctl.scheduler.cycle.cycle import schedule_pod
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.plugins.registry import in_tree_registry
from kschedctl.scheduler.plugins.taint_toleration import is_of_pool
from tests.builders import decide as decide_for
from tests.builders import make_cluster, make_container, make_node, make_pod

THEMES = ("taints", "nodeaffinity", "ports", "spread", "interpod", "resources")
REQUIRED = "required_during_scheduling_ignored_during_execution"


def pods_with_one_change(pod: Pod, cluster: Cluster) -> Iterator[tuple[str, Pod]]:
    """Yield the pod with each single change of the tried kinds, and the kind."""
    spec = pod.spec

    def with_spec(**fields: Any) -> Pod:
        return replace(pod, spec=replace(spec, **fields))

    for taint in {taint for node in cluster.nodes.objects for taint in node.spec.taints}:
        if taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not taint.key.startswith(
            (*UNSAFE_TAINTS, CRITICAL_ADDONS_ONLY)
        ):
            yield "tolerate", with_spec(tolerations=(*spec.tolerations, _toleration(taint)))
    for i in range(len(spec.tolerations)):
        yield "drop toleration", with_spec(tolerations=spec.tolerations[:i] + spec.tolerations[i + 1 :])
    for key in spec.node_selector.keys() - PLATFORM_LABELS:
        left = {name: value for name, value in spec.node_selector.items() if name != key}
        yield "drop selector", with_spec(node_selector=left)
    constraints = spec.topology_spread_constraints
    for i, constraint in enumerate(constraints):
        if constraint.when_unsatisfiable != "DoNotSchedule":
            continue
        yield "drop constraint", with_spec(topology_spread_constraints=constraints[:i] + constraints[i + 1 :])
        for skew in range(constraint.max_skew + 1, constraint.max_skew + 60):
            wider = replace(constraint, max_skew=skew)
            changed = (*constraints[:i], wider, *constraints[i + 1 :])
            yield "maxSkew", with_spec(topology_spread_constraints=changed)
    affinity = spec.affinity
    for field in ("node_affinity", "pod_affinity", "pod_anti_affinity"):
        own = getattr(affinity, field, None)
        if affinity is None or own is None or not getattr(own, REQUIRED):
            continue
        terms = getattr(own, REQUIRED)
        if field == "node_affinity" and _names_platform(terms):
            continue
        if field == "node_affinity":
            yield "drop affinity", with_spec(affinity=replace(affinity, **{field: replace(own, **{REQUIRED: None})}))
            continue
        for i in range(len(terms)):
            left_terms = replace(own, **{REQUIRED: terms[:i] + terms[i + 1 :]})
            yield f"drop {field}", with_spec(affinity=replace(affinity, **{field: left_terms}))
    for i, container in enumerate(spec.containers):
        for resource, quantity in container.resources.requests.items():
            requests = {**container.resources.requests, resource: f"{parse_quantity(quantity) * 4 // 5}n"}
            lower = replace(container, resources=replace(container.resources, requests=requests))
            if quantity != "0":
                yield "request", with_spec(containers=(*spec.containers[:i], lower, *spec.containers[i + 1 :]))
        for j, port in enumerate(container.ports):
            # With hostNetwork the port is one of the node, declared or not.
            if port.host_port and not spec.host_network:
                ports = (*container.ports[:j], replace(port, host_port=0), *container.ports[j + 1 :])
                without = replace(container, ports=ports)
                yield "port", with_spec(containers=(*spec.containers[:i], without, *spec.containers[i + 1 :]))


def clusters_with_one_change(cluster: Cluster) -> Iterator[tuple[str, Cluster]]:
    """Yield the cluster with each single change of a node or one pod deleted, and the kind."""
    nodes = cluster.nodes.objects
    for i, node in enumerate(nodes):
        for j, taint in enumerate(node.spec.taints):
            if taint.key.startswith(UNSAFE_TAINTS) or is_of_pool(node, taint):
                continue
            taints = node.spec.taints[:j] + node.spec.taints[j + 1 :]
            changed = replace(node, spec=replace(node.spec, taints=taints))
            yield "untaint", cluster.with_nodes((*nodes[:i], changed, *nodes[i + 1 :]))
        if node.spec.unschedulable:
            kept = tuple(taint for taint in node.spec.taints if taint.key != "node.kubernetes.io/unschedulable")
            changed = replace(node, spec=replace(node.spec, unschedulable=False, taints=kept))
            yield "uncordon", cluster.with_nodes((*nodes[:i], changed, *nodes[i + 1 :]))
    for index in cluster.pods.assigned.tolist():
        end = cluster.pods.records[index].metadata.deletion_timestamp
        # A pod whose deletion is overdue is stuck: nothing is promised about its end.
        if end is None or cluster.taken_at is None or end >= cluster.taken_at:
            yield "pod less", cluster.with_pods(removed=[index])


def _names_platform(selector: NodeSelector) -> bool:
    """Report whether node affinity requires a platform, which no image does without."""
    terms = selector.node_selector_terms
    return any(each.key in PLATFORM_LABELS for term in terms for each in term.match_expressions)


def _toleration(taint: Taint) -> Toleration:
    return Toleration(key=taint.key, operator="Exists", effect=taint.effect)


def helping(decision: Decision, changed: Pod | None = None) -> set[str]:
    """Return the kinds of single changes after which the pod fits, which may be one with a change already."""
    own, found = changed or decision.pod, set()
    for kind, pod in pods_with_one_change(own, decision.cluster):
        if kind not in found and schedule_pod(decision.framework, pod).schedulable:
            found.add(kind)
    for kind, cluster in clusters_with_one_change(decision.cluster):
        if kind not in found and schedule_pod(decision.framework.moved(cluster), own).schedulable:
            found.add(kind)
    return found


#: The first words of the summaries, by kind.
WORDS = {
    "tolerate": ("tolerate",),
    "drop toleration": ("drop the toleration",),
    "drop selector": ("drop",),
    "drop constraint": ("drop the spread constraint",),
    "maxSkew": ("maxSkew",),
    "drop affinity": ("drop",),
    "drop pod_affinity": ("drop the required pod affinity",),
    "drop pod_anti_affinity": ("drop the required pod anti-affinity",),
    "request": ("request",),
    "port": ("drop host port",),
    "untaint": ("remove taint", "uncordon"),
    "uncordon": ("uncordon",),
    "pod less": ("delete pod", "free", "wait"),
}


@pytest.mark.parametrize("theme", THEMES)
@given(seed=st.integers(0, 10**6))
@example(seed=101494)
@example(seed=2214)
@example(seed=722447)
@example(seed=23077)
def test_every_kind_that_helps_is_among_the_suggestions(theme: str, seed: int) -> None:
    case = msgspec.convert(generate.case(theme, seed, seed % 150), Case)
    try:
        decision = decide(case, LATEST, in_tree_registry())
    except KschedctlError:
        return
    if decision.schedulable or decision.error:
        return
    found = [way.summary for one in suggest(decision, 500).suggestions for way in (one, *one.others)]
    for kind in helping(decision):
        assert any(one.startswith(WORDS[kind]) for one in found), f"{kind} helps {case.id}, and is not among {found}"


PORTS = [{"containerPort": 80, "hostPort": 80}]
CORDON = "node.kubernetes.io/unschedulable:NoSchedule"


#: The obstacles that a node may have.
OBSTACLES = ("a=1:NoSchedule", "b:NoSchedule", CORDON, "small", "too small", "port", "other pool")


@given(
    nodes=st.lists(st.sets(st.sampled_from(OBSTACLES), max_size=4), min_size=1, max_size=5),
    selects=st.booleans(),
    uses_port=st.booleans(),
)
def test_pairs_of_all_kinds_that_help_are_among_the_suggestions(
    nodes: list[set[str]], selects: bool, uses_port: bool
) -> None:
    decision = decide_for(
        make_pod(
            containers=[make_container(requests={"cpu": "4200m"}, ports=PORTS if uses_port else [])],
            nodeSelector={"pool": "x"} if selects else {},
        ),
        make_cluster(
            [
                make_node(
                    f"n{i}",
                    cpu="2" if "too small" in has else "3600m" if "small" in has else "4500m",
                    taints=sorted(each for each in has if ":" in each),
                    unschedulable=CORDON in has,
                    labels={"pool": "y" if "other pool" in has else "x"},
                )
                for i, has in enumerate(nodes)
            ],
            [
                make_pod(f"p{i}", node=f"n{i}", priority=9, containers=[make_container(ports=PORTS)])
                for i, has in enumerate(nodes)
                if "port" in has
            ],
        ),
    )
    found = suggest(decision, 500)
    singles = [one for one in found.suggestions if len(one.remedies) == 1]
    if decision.schedulable or any(not one.summary.startswith("add a larger node") for one in singles):
        return
    pairs = [[each.summary for each in one.remedies] for one in found.suggestions if len(one.remedies) == 2]
    for first, pod in pods_with_one_change(decision.pod, decision.cluster):
        # The pods on the nodes are of higher priority, so that none is deleted.
        for second in helping(decision, pod) - {first, "pod less"}:
            kinds = WORDS[first], WORDS[second]
            assert any(all(any(summary.startswith(words) for summary in pair) for words in kinds) for pair in pairs), (
                f"{first} and {second} help together, and are not among {pairs}"
            )
