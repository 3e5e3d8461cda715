"""Properties of any plan: kube-scheduler finds its pods places on its nodes, and no pool exceeds its limit."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kschedctl.autoscaler.catalog import read_catalog
from kschedctl.autoscaler.karpenter.new_nodes import NewNode, node_of
from kschedctl.autoscaler.karpenter.pods import as_unschedulable
from kschedctl.autoscaler.karpenter.provisioner import Settings, provision
from kschedctl.autoscaler.karpenter.state import completed
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.placed_pods import on_node
from kschedctl.objects.core import Taint
from kschedctl.objects.karpenter import MinValuesRequirement, NodePool
from kschedctl.objects.pod import Pod
from kschedctl.objects.resources import parse_resources
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.status import Code
from tests.builders import make_cluster, make_container, make_object, make_pod
from tests.paths import ROOT

ZONE = "topology.kubernetes.io/zone"
ZONES = ("eu-west-1a", "eu-west-1b", "eu-west-1c")
TYPES = read_catalog(str(ROOT / "fixtures" / "pools" / "instance-types.yaml"))
DEDICATED = Taint(key="dedicated", value="batch", effect="NoSchedule")


@st.composite
def pools(draw: st.DrawFn) -> list[NodePool]:
    made = []
    for i in range(draw(st.integers(1, 3))):
        zones = draw(st.lists(st.sampled_from(ZONES), max_size=2, unique=True))
        requirements = (MinValuesRequirement(key=ZONE, operator="In", values=tuple(zones)),) if zones else ()
        limit = draw(st.sampled_from((None, "4", "9", "24")))
        pool = make_object(NodePool, f"pool-{i}")
        template = pool.spec.template
        spec = replace(template.spec, requirements=requirements, taints=draw(st.sampled_from(((), (DEDICATED,)))))
        template = replace(template, spec=spec)
        limits = {"cpu": limit} if limit else {}
        weight = draw(st.integers(0, 2))
        made.append(replace(pool, spec=replace(pool.spec, template=template, limits=limits, weight=weight)))
    return made


@st.composite
def pods(draw: st.DrawFn) -> list[Pod]:
    made = []
    for i in range(draw(st.integers(1, 8))):
        app = draw(st.sampled_from(("a", "b")))
        fields: dict[str, Any] = {}
        if draw(st.booleans()):
            fields["nodeSelector"] = {ZONE: draw(st.sampled_from(ZONES))}
        if draw(st.booleans()):
            fields["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
        if draw(st.integers(0, 3)) == 0:
            own = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
            fields["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [own]}}
        ports = []
        if draw(st.integers(0, 3)) == 0:
            ports = [{"containerPort": 80, "hostPort": draw(st.sampled_from((80, 81))), "protocol": "TCP"}]
        requests = {"cpu": draw(st.sampled_from(("100m", "1", "3", "7"))), "memory": "1Gi"}
        containers = [make_container(requests=requests, ports=ports)]
        made.append(make_pod(f"p{i}", labels={"app": app}, containers=containers, **fields))
    return made


def placed(cluster: Cluster, node: NewNode, number: int) -> Cluster:
    """Add a node of a plan and put its pods on it, each where the scheduler's filters allow it."""
    name = f"new-{number}"
    cluster = cluster.with_nodes((*cluster.nodes.objects, node_of(node, name)))
    for key in node.pods:
        namespace, _, pod_name = key.partition("/")
        pod = cluster.pods.pod(cluster.pods.index[namespace, pod_name])
        verdict = Scheduler(cluster).decide(pod).node(name)
        assert verdict.status.code is Code.SUCCESS, (key, name, verdict.status.message)
        cluster = cluster.with_pods(added=(on_node(pod, name),))
    return cluster


@given(pools(), pods())
def test_the_scheduler_agrees_with_a_plan(offered: list[NodePool], waiting: list[Pod]) -> None:
    marked = [as_unschedulable(pod, None) for pod in waiting]
    cluster = completed(make_cluster([], marked, *offered))
    plan = provision(cluster, TYPES, Settings())
    fates = [*plan.errors, *plan.ignored, *plan.placed, *(key for node in plan.nodes for key in node.pods)]
    assert sorted(fates) == sorted(pod.key for pod in waiting), "every pod has one fate"
    for number, node in enumerate(plan.nodes):
        cluster = placed(cluster, node, number)
    for pool in offered:
        used = sum(
            max(parse_resources(kind.capacity)["cpu"] for kind in node.types)
            for node in plan.nodes
            if node.pool.name == pool.name
        )
        limit = parse_resources(pool.spec.limits).get("cpu")
        assert limit is None or used <= limit
