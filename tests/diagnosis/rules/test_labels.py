"""Required node labels that no node has, and the labels that were meant."""

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import meant
from kschedctl.controllers.admission.runtime_class import admit_runtime_class
from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.diagnosis.why.search import suggest
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.policies import RuntimeClass
from tests.builders import ZONE, decide, make_cluster, make_node, make_object, make_pod
from tests.diagnosis.rules.cures import cures

ARCH = "kubernetes.io/arch"
MASTER, CONTROL_PLANE = "node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane"

GVISOR = make_object(RuntimeClass, "gvisor", handler="gvisor", scheduling={"nodeSelector": {"runtime": "gvisor"}})


def selecting(**labels: str) -> dict[str, Any]:
    return {"nodeSelector": labels}


def requiring(*expressions: dict[str, Any]) -> dict[str, Any]:
    required = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def within(key: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


@pytest.mark.parametrize(
    ("spec", "nodes", "cause", "cure"),
    [
        pytest.param(
            selecting(tier="nvem"),
            [{"tier": "nvme"}, {"tier": "nvme"}, {"tier": "hdd"}, {}],
            "nodeSelector wants tier=nvem, which no node has; n0 and n1 have tier=nvme",
            "tier=nvme instead of tier=nvem in nodeSelector",
            id="letters swapped",
        ),
        pytest.param(
            selecting(disk="SSD"),
            [{"disk": "ssd"}],
            "nodeSelector wants disk=SSD, which no node has; n0 has disk=ssd",
            "disk=ssd instead of disk=SSD in nodeSelector",
            id="case",
        ),
        pytest.param(
            selecting(**{"nvidia.com/gpu.product": "NVIDIA-A10G"}),
            [{"nvidia.com/gpu.product": "NVIDIA-A10G-SHARED"}, {"nvidia.com/gpu.product": "Tesla-T4-SHARED"}],
            "nodeSelector wants nvidia.com/gpu.product=NVIDIA-A10G, which no node has; n0 has "
            "nvidia.com/gpu.product=NVIDIA-A10G-SHARED",
            "nvidia.com/gpu.product=NVIDIA-A10G-SHARED instead of nvidia.com/gpu.product=NVIDIA-A10G in nodeSelector",
            id="a GPU that is shared",
        ),
        pytest.param(
            selecting(gpu="yes"),
            [{"gpu": "true"}],
            "nodeSelector wants gpu=yes, which no node has; n0 has gpu=true",
            "gpu=true instead of gpu=yes in nodeSelector",
            id="another word for yes",
        ),
        pytest.param(
            selecting(nodepool="memory"),
            [{"node-pool": "memory"}],
            "nodeSelector wants nodepool=memory, which no node has; n0 has node-pool=memory",
            "node-pool=memory instead of nodepool=memory in nodeSelector",
            id="key",
        ),
        pytest.param(
            selecting(**{MASTER: ""}),
            [{CONTROL_PLANE: ""}],
            f"nodeSelector wants {MASTER}=, which no node has; n0 has {CONTROL_PLANE}=",
            f"{CONTROL_PLANE}= instead of {MASTER}= in nodeSelector",
            id="label of the past",
        ),
        pytest.param(
            selecting(**{"beta.kubernetes.io/os": "linux"}),
            [{"kubernetes.io/os": "linux"}],
            "nodeSelector wants beta.kubernetes.io/os=linux, which no node has; n0 has kubernetes.io/os=linux",
            "kubernetes.io/os=linux instead of beta.kubernetes.io/os=linux in nodeSelector",
            id="beta label",
        ),
        pytest.param(
            requiring(within("pool", "memroy")),
            [{"pool": "memory"}, {"pool": "cpu"}],
            "the node affinity wants pool=memroy, which no node has; n0 has pool=memory",
            "pool=memory instead of pool=memroy in the node affinity",
            id="node affinity",
        ),
        pytest.param(
            selecting(**{ARCH: "x86_64"}),
            [{ARCH: "amd64"}],
            f"nodeSelector wants {ARCH}=x86_64, which no node has; n0 has {ARCH}=amd64",
            f"{ARCH}=amd64 instead of {ARCH}=x86_64 in nodeSelector",
            id="another name of the architecture",
        ),
        pytest.param(
            selecting(**{ARCH: "arm64"}),
            [{ARCH: "amd64"}],
            f"nodeSelector wants {ARCH}=arm64, and no node has it: nodes have amd64",
            "use an image for amd64, and change nodeSelector to match",
            id="another architecture",
        ),
    ],
)  # fmt: skip
def test_cause_and_cure(spec: dict[str, Any], nodes: list[dict[str, str]], cause: str, cure: str) -> None:
    cluster = make_cluster([make_node(f"n{i}", labels=labels) for i, labels in enumerate(nodes)])
    decision = decide(make_pod(**spec), cluster)
    assert [one.cause for one in diagnose(decision)] == [cause]
    assert suggest(decision).ranked[0].summary == cure


@pytest.mark.parametrize(
    ("spec", "nodes", "cause", "evidence"),
    [
        pytest.param(
            selecting(pool="gpu"),
            [{"pool": "cpu"}],
            "no node has the label pool=gpu of nodeSelector",
            ("nodes have pool=cpu",),
            id="another value",
        ),
        pytest.param(
            selecting(**{ZONE: "eu-1c"}),
            [{ZONE: "eu-1a"}, {ZONE: "eu-1b"}],
            f"no node has the label {ZONE}=eu-1c of nodeSelector",
            (f"nodes have {ZONE}=eu-1a and {ZONE}=eu-1b",),
            id="another zone",
        ),
        pytest.param(
            selecting(pool="big", disk="ssd"),
            [{"pool": "big"}, {"disk": "ssd"}, {"disk": "ssd"}],
            "no node has all labels that the pod requires: disk=ssd on 2 nodes and pool=big on 1 node",
            (),
            id="on different nodes",
        ),
    ],
)
def test_no_mistake(spec: dict[str, Any], nodes: list[dict[str, str]], cause: str, evidence: tuple[str, ...]) -> None:
    cluster = make_cluster([make_node(f"n{i}", labels=labels) for i, labels in enumerate(nodes)])
    (found,) = diagnose(decide(make_pod(**spec), cluster))
    assert (found.cause, found.evidence, found.remedies) == (cause, evidence, ())


@pytest.mark.parametrize(
    ("spec", "cause", "expected"),
    [
        pytest.param(
            {},
            "runtime class gvisor wants nodes with runtime=gvisor, and no node has this label",
            [
                "add a node with runtime=gvisor, or scale its pool up if it has 0 nodes (untried)",
                "another runtimeClassName than gvisor, or none, if the pod can run with another runtime (untried)",
            ],
            id="the class alone",
        ),
        pytest.param(
            {"nodeSelector": {"pool": "big"}},
            "runtime class gvisor wants nodes with runtime=gvisor, and no node has this label; "
            "no node has the label pool=big of nodeSelector",
            None,
            id="the class and the pod",
        ),
    ],
)
def test_label_of_a_runtime_class(spec: dict[str, Any], cause: str, expected: list[str] | None) -> None:
    cluster = make_cluster([make_node("a", labels={"runtime": "gvizor"})], (), GVISOR)
    decision = decide(admitted(cluster, **spec), cluster)
    assert [one.cause for one in diagnose(decision)] == [cause]
    if expected is not None:
        assert cures(decision) == expected


def test_a_node_without_the_runtime_is_not_labelled() -> None:
    nodes = [make_node("a", cpu="1", labels={"runtime": "gvisor"}), make_node("b")]
    cluster = make_cluster(nodes, [make_pod("x", node="a", requests={"cpu": "1"})], GVISOR)
    found = cures(decide(admitted(cluster, requests={"cpu": "1"}), cluster))
    assert "add a node like a" in found
    assert not any("runtime=gvisor" in one for one in found), found


def admitted(cluster: Cluster, **spec: Any) -> Pod:
    pod, _ = admit_runtime_class(make_pod(runtimeClassName="gvisor", **spec), cluster)
    return pod


def test_a_node_that_matches_is_full() -> None:
    nodes = [make_node("a", labels={"tier": "nvem"}), make_node("b", labels={"tier": "nvme"})]
    full = make_pod("x", node="a", requests={"cpu": "4"})
    (found,) = diagnose(decide(make_pod(requests={"cpu": "1"}, **selecting(tier="nvem")), make_cluster(nodes, [full])))
    assert found.cause == "a with tier=nvem has 0 of 4 cpu free, the pod wants 1 cpu"


@pytest.mark.parametrize(
    ("name", "names", "expected"),
    [
        ("production", ["produktion", "staging"], ["produktion"]),
        ("memory_optimized", ["memory-optimized"], ["memory-optimized"]),
        ("spott", ["spot"], ["spot"]),
        ("east", ["west"], []),
        ("large", ["xlarge"], []),
        ("a100", ["a10"], []),
        ("m5.large", ["m6.large"], []),
        ("hdd", ["ssd"], []),
        ("eu-west-1", ["eu-east-1"], []),
        ("us-east-1a", ["us-east-1b"], []),
        ("wroker-1", ["worker-1", "worker-2"], ["worker-1"]),
        ("pol", ["pool"], ["pool"]),
        ("team-b", ["team-a"], []),
        ("team.x.web", ["team.y.web"], []),
        ("", ["a"], []),
    ],
)
def test_typing_mistakes(name: str, names: list[str], expected: list[str]) -> None:
    assert meant(name, names) == expected


@pytest.mark.parametrize(
    ("taint", "used", "expected"),
    [
        pytest.param(
            f"{CONTROL_PLANE}:NoSchedule",
            "0",
            f"{CONTROL_PLANE}= instead of {MASTER}= in nodeSelector, and tolerate {CONTROL_PLANE}:NoSchedule instead "
            f"of {MASTER}:NoSchedule",
            id="two mistakes",
        ),
        pytest.param(
            "",
            "3500m",
            f"{CONTROL_PLANE}= instead of {MASTER}= in nodeSelector, and add a node like a",
            id="no room where the label is",
        ),
    ],
)
def test_correction_that_is_not_enough_alone(taint: str, used: str, expected: str) -> None:
    nodes = [make_node("a", labels={CONTROL_PLANE: ""}, taints=[taint] if taint else []), make_node("b")]
    toleration = {"key": MASTER, "operator": "Exists", "effect": "NoSchedule"}
    pod = make_pod(nodeSelector={MASTER: ""}, tolerations=[toleration], requests={"cpu": "1"})
    found = decide(pod, make_cluster(nodes, [make_pod("x", node="a", requests={"cpu": used})]))
    assert [one.summary for one in suggest(found).ranked] == [expected]


def test_several_values_that_no_node_has() -> None:
    key = "node.kubernetes.io/instance-type"
    decision = decide(make_pod(**requiring(within(key, "m5.large", "m5.xlarge"))), make_cluster([make_node("a")], []))
    first = suggest(decision).ranked[0]
    assert first.summary == f"add a node with {key}=m5.large or m5.xlarge, or scale its pool up if it has 0 nodes"


POOL = "eks.amazonaws.com/nodegroup"


def of_pool(name: str, *, disk: bool = False, day: int = 2, pool: str = POOL, **fields: Any) -> Node:
    """Return a node of a pool that was created on a day of October."""
    node = make_node(name, labels={**({pool: "data"} if pool else {}), **({"disk": "nvme"} if disk else {})}, **fields)
    created = datetime(2026, 10, day, tzinfo=UTC)
    return replace(node, metadata=replace(node.metadata, creation_timestamp=created))


LACKS = (
    "nodeSelector wants disk=nvme, which d1 of nodegroup data has, but d2 has not; d1 has 1 of 4 cpu free, the pod "
    "wants 3 cpu"
)
IN_POOL = "put the label disk=nvme into the definition of nodegroup data, and give it to d2"
FULL = make_pod("x", node="d1", requests={"cpu": "3"})
SHORT = "d1 with disk=nvme has 1 of 4 cpu free, the pod wants 3 cpu"


@pytest.mark.parametrize(
    ("nodes", "pods", "cause", "cure"),
    [
        pytest.param([of_pool("d1", disk=True), of_pool("d2", day=9)], [FULL], LACKS, IN_POOL, id="recreated"),
        pytest.param([of_pool("d1", disk=True), of_pool("d2")], [FULL], LACKS, IN_POOL, id="of the same age"),
        pytest.param(
            [of_pool("d1", disk=True, day=9), of_pool("d2"), of_pool("d3")], [FULL], SHORT, None, id="one of many nodes"
        ),
        pytest.param(
            [of_pool("d1", disk=True), of_pool("d2", day=9, pool="")], [FULL], SHORT, None, id="a node of no pool"
        ),
        pytest.param(
            [of_pool("d1", disk=True), of_pool("d2", day=9, taints=["a:NoSchedule"])], [FULL], SHORT, None, id="tainted"
        ),
        pytest.param(
            [of_pool("d1"), of_pool("d2")],
            [make_pod("x", node="d2", nodeSelector={"disk": "nvme"})],
            "nodeSelector wants disk=nvme, which d2 has lost: pod default/x, which requires it as well, still runs "
            "there",
            IN_POOL,
            id="a pod that requires the label runs there",
        ),
        pytest.param([of_pool("d1"), of_pool("d2")], [], None, None, id="no sign of the label"),
    ],
)
def test_a_label_that_a_pool_lost(nodes: list[Node], pods: list[Pod], cause: str | None, cure: str | None) -> None:
    decision = decide(make_pod(nodeSelector={"disk": "nvme"}, requests={"cpu": "3"}), make_cluster(nodes, pods))
    found = diagnose(decision)[0]
    if cause is None or cure is None:
        assert found.rule != "lost-label"
        assert cause is None or found.cause.startswith(cause)
        return
    assert found.cause == cause
    assert cures(decision).index(cure) < 2
