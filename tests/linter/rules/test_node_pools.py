"""Rules about node pools, the pods that they launch nodes for, and Cluster Autoscaler's cutoff."""

import pytest

from kschedctl.linter.examples import manifests, node, snapshot
from tests.linter.linting import lint

AWS = "karpenter.k8s.aws"


def pool(name: str = "general", requirements: str = "", *, spec: str = "", fields: str = "", labels: str = "") -> str:
    """Return a NodePool: requirements as ``KEY OPERATOR VALUE ...`` per line, and fields of its spec."""
    rows = [line.split() for line in requirements.splitlines()]
    written = "".join(
        f"        - {{key: {key}, operator: {operator}, values: [{', '.join(map(repr, values))}]}}\n"
        for key, operator, *values in rows
    )
    return f"""apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: {name}}}
spec:
  {fields}
  template:
    metadata: {{labels: {{{labels}}}}}
    spec:
      nodeClassRef: {{group: {AWS}, kind: EC2NodeClass, name: default}}
      {spec}
      requirements:{" []" if not rows else ""}
{written}"""


def pod(fields: str = "", requests: str = "cpu: 1") -> str:
    return f"""apiVersion: v1
kind: Pod
metadata: {{name: web}}
spec:
  containers: [{{name: web, image: nginx, resources: {{requests: {{{requests}}}}}}}]
  {fields}
"""


def found(text: str, rule: str, cluster: str = "") -> list[str]:
    return [f"{each.severity}: {each.message}" for each in lint(manifests(text), rule, snapshot=cluster)]


def reasons(text: str, cluster: str = "") -> list[str]:
    """Return the findings of KS801 without their first words."""
    return [each.replace("no NodePool could hold the pods: ", "") for each in found(text, "KS801", cluster)]


ARM = "nodeSelector: {kubernetes.io/arch: arm64}"
AMD_POOL = pool("general", "kubernetes.io/arch In amd64")
GPU_POOL = pool("gpu", spec="taints: [{key: gpu, value: 'true', effect: NoSchedule}]", labels="accelerator: a100")


def terms(*values: str) -> str:
    """Return required node affinity with one term per zone."""
    each = ", ".join(
        f"{{matchExpressions: [{{key: topology.kubernetes.io/zone, operator: In, values: [{value}]}}]}}"
        for value in values
    )
    inner = f"requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{each}]}}"
    return f"affinity: {{nodeAffinity: {{{inner}}}}}"


NOT_IN_POOLS = (
    "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
    "[{matchExpressions: [{key: karpenter.sh/nodepool, operator: DoesNotExist}]}]}}}"
)
ZONE_POOL = pool("zonal", "topology.kubernetes.io/zone In a b")


@pytest.mark.parametrize(
    ("pools", "given", "expected"),
    [
        (AMD_POOL, pod(), []),
        (AMD_POOL, pod("nodeSelector: {kubernetes.io/arch: amd64}"), []),
        (
            AMD_POOL,
            pod(ARM),
            ["warning: general allows kubernetes.io/arch In [amd64], and the pods want kubernetes.io/arch In [arm64]"],
        ),
        # Labels under their former names.
        (AMD_POOL, pod("nodeSelector: {beta.kubernetes.io/arch: amd64}"), []),
        # One pool that may take the pods is enough.
        (f"{AMD_POOL}---\n{pool('any')}", pod(ARM), []),
        # A label of the cloud provider that no requirement names.
        (AMD_POOL, pod(f"nodeSelector: {{{AWS}/instance-category: c}}"), []),
        (
            AMD_POOL,
            pod("nodeSelector: {team: red}"),
            ['warning: general refuses them: label "team" does not have known values'],
        ),
        (pool(labels="team: red"), pod("nodeSelector: {team: red}"), []),
        (pool(labels="team: red"), pod("nodeSelector: {karpenter.sh/nodepool: general}"), []),
        (
            pool(),
            pod("nodeSelector: {karpenter.sh/nodepool: generel}"),
            [
                "warning: general allows karpenter.sh/nodepool In [general], "
                "and the pods want karpenter.sh/nodepool In [generel]"
            ],
        ),
        # Karpenter tries the terms one after another.
        (ZONE_POOL, pod(terms("c", "b")), []),
        (
            ZONE_POOL,
            pod(terms("c", "d")),
            [
                "warning: zonal allows topology.kubernetes.io/zone In [a b], "
                "and the pods want topology.kubernetes.io/zone In [c]"
            ],
        ),
        # Pods for the nodes of others.
        (AMD_POOL, pod("nodeSelector: {kubernetes.io/arch: arm64, eks.amazonaws.com/nodegroup: system}"), []),
        (AMD_POOL, pod(f"{NOT_IN_POOLS}\n  {ARM}"), []),
        (AMD_POOL, pod("nodeName: node-1"), []),
        (AMD_POOL, pod("nodeSelector: {kubernetes.io/arch: '${ARCH}'}"), []),
        # Without a snapshot, pods without toleration may run on nodes that are not known.
        (GPU_POOL, pod(), []),
        (
            GPU_POOL,
            pod("nodeSelector: {accelerator: a100}"),
            ["warning: gpu has the taint gpu=true:NoSchedule, which the pods do not tolerate"],
        ),
        (GPU_POOL, pod("nodeSelector: {accelerator: a100}\n  tolerations: [{key: gpu, operator: Exists}]"), []),
        (
            f"{GPU_POOL}---\n{AMD_POOL}",
            pod(ARM),
            [
                "warning: general allows kubernetes.io/arch In [amd64], and the pods want kubernetes.io/arch In [arm64]"
                "; gpu has the taint gpu=true:NoSchedule, which the pods do not tolerate"
            ],
        ),
        (
            f"{AMD_POOL}---\n{pool('second', 'kubernetes.io/arch In amd64')}",
            pod(ARM),
            [
                "warning: each of general and second allows kubernetes.io/arch In [amd64], "
                "and the pods want kubernetes.io/arch In [arm64]"
            ],
        ),
        (pool(spec="taints: [{key: spot, effect: PreferNoSchedule}]"), pod(), []),
        # A startup taint goes by itself.
        (pool(spec="startupTaints: [{key: cni, effect: NoSchedule}]"), pod(), []),
        (
            pool(fields="limits: {cpu: 8}"),
            pod(requests="cpu: 16"),
            ["warning: general has a limit of 8 cpu, less than a request of 16"],
        ),
        (pool(fields="limits: {cpu: 8}"), pod(requests="cpu: 8"), []),
        (pool(fields="limits: {nodes: 0}"), pod(), ["warning: general has a limit of 0 nodes, less than one node"]),
        (
            pool("small", f"{AWS}/instance-cpu Lt 9"),
            pod(requests="cpu: 16"),
            [f"warning: small allows {AWS}/instance-cpu Exists <=8, and the pods request 16 cpu"],
        ),
        (
            pool("small", f"{AWS}/instance-memory In 8192 16384"),
            pod(requests="memory: 20Gi"),
            [f"warning: small allows {AWS}/instance-memory In [16384 8192], and the pods request 20Gi memory"],
        ),
        (pool("small", f"{AWS}/instance-cpu Lt 9"), pod(requests="cpu: 8"), []),
        # A static pool launches nodes for nobody, but those that it has may hold the pods.
        (f"{AMD_POOL}---\n{pool('fixed', fields='replicas: 3')}", pod(ARM), []),
    ],
)
def test_pods_that_no_pool_launches_a_node_for(pools: str, given: str, expected: list[str]) -> None:
    assert reasons(f"{pools}---\n{given}") == expected


def test_a_daemon_set_gets_no_node() -> None:
    text = "apps/v1 DaemonSet agent\nnodeSelector: {kubernetes.io/arch: arm64}\n"
    assert reasons(f"{AMD_POOL}---\n{text}") == []


@pytest.mark.parametrize(
    "other", [AMD_POOL.replace("amd64", "arm64"), AMD_POOL.replace("spec:\n", "spec:\n  $patch: merge\n", 1)]
)
def test_a_pool_that_several_files_have_is_not_known(other: str) -> None:
    texts = {"dev/pool.yaml": AMD_POOL, "prod/pool.yaml": other, "web.yaml": pod(ARM)}
    assert lint(texts, "KS801") == []


def machine(name: str, kind: str, cpu: int, labels: str = "", taints: str = "") -> str:
    """Return a node of an instance type."""
    return f"""apiVersion: v1
kind: Node
metadata:
  name: {name}
  labels: {{kubernetes.io/arch: amd64, node.kubernetes.io/instance-type: {kind}, {labels}}}
spec: {{providerID: "aws:///a/{name}", taints: [{taints}]}}
status:
  capacity: {{cpu: "{cpu}", memory: 16Gi, pods: "110"}}
  allocatable: {{cpu: "{cpu - 1}", memory: 15Gi, pods: "110"}}
"""


OWN = "karpenter.sh/nodepool: general"
LISTED = pool("general", "node.kubernetes.io/instance-type In m7g.large m7g.xlarge")


@pytest.mark.parametrize(
    ("cluster", "pools", "given", "expected"),
    [
        # The pools of the snapshot alone.
        (
            snapshot(machine("a", "m7g.large", 4, OWN), AMD_POOL),
            "",
            pod(ARM),
            ["error: general allows kubernetes.io/arch In [amd64], and the pods want kubernetes.io/arch In [arm64]"],
        ),
        # A manifest changes the pool of the snapshot.
        (snapshot(machine("a", "m7g.large", 4, OWN), AMD_POOL), pool(), pod(ARM), []),
        # A node that is in no pool.
        (snapshot(machine("a", "m7g.large", 4), GPU_POOL), "", pod(), []),
        (
            snapshot(machine("a", "m7g.large", 4, taints="{key: system, effect: NoSchedule}"), GPU_POOL),
            "",
            pod(),
            ["error: gpu has the taint gpu=true:NoSchedule, which the pods do not tolerate"],
        ),
        # There may be larger types than those that have been seen.
        (
            snapshot(machine("a", "m7g.large", 4, OWN), pool()),
            "",
            pod(requests="cpu: 4"),
            ["info: general has no known instance type that is large enough: the largest leaves 3 of 4 cpu"],
        ),
        (snapshot(machine("a", "m7g.large", 4, OWN), pool()), "", pod(requests="cpu: 3"), []),
        (
            snapshot(machine("a", "m7g.large", 4, OWN), machine("b", "m7g.xlarge", 8, OWN), LISTED),
            "",
            pod(requests="cpu: 8"),
            ["error: general has no known instance type that is large enough: the largest leaves 7 of 8 cpu"],
        ),
    ],
)
def test_pods_that_no_pool_of_a_snapshot_launches_a_node_for(
    cluster: str, pools: str, given: str, expected: list[str]
) -> None:
    assert reasons(f"{pools}---\n{given}" if pools else given, cluster) == expected


@pytest.mark.parametrize(
    ("pools", "expected"),
    [
        (AMD_POOL, ["KS501 error", "KS506 error"]),
        (AMD_POOL.replace("amd64", "arm64"), ["KS501 info"]),
        (pool("fixed", fields="replicas: 3"), ["KS501 error", "KS506 error"]),
    ],
)
def test_pods_that_fit_no_node_of_a_snapshot_may_get_one(pools: str, expected: list[str]) -> None:
    results = lint(pod(ARM), "KS50", snapshot=snapshot(machine("a", "m7g.large", 4), pools))
    assert sorted(f"{each.rule.code} {each.severity}" for each in results) == expected


def protected(kind: str, value: str = "true", fields: str = "") -> str:
    """Return a workload whose pods have the annotation."""
    text = manifests(f"{kind} web\n{fields}")
    place = "    metadata:\n" if "template:" in text else "metadata:\n"
    indent = "      " if "template:" in text else "  "
    if place not in text:
        text = text.replace("template:\n", f"template:\n{place}")
    return text.replace(place, f'{place}{indent}annotations: {{karpenter.sh/do-not-disrupt: "{value}"}}\n', 1)


@pytest.mark.parametrize(
    ("given", "n"),
    [
        (protected("apps/v1 Deployment"), 1),
        (protected("apps/v1 StatefulSet"), 1),
        (protected("apps/v1 DaemonSet"), 1),
        (protected("v1 Pod"), 1),
        (protected("v1 Pod", fields="restartPolicy: Never\n"), 0),
        (protected("v1 Pod", fields="activeDeadlineSeconds: 3600\n"), 0),
        (protected("batch/v1 Job"), 0),
        (protected("apps/v1 Deployment", "4h"), 0),
        (protected("apps/v1 Deployment", "false"), 0),
        # Karpenter deletes the pods after the period, if all pools have one.
        (f"{protected('apps/v1 Deployment')}---\n{pool(spec='terminationGracePeriod: 24h')}", 0),
        (f"{protected('apps/v1 Deployment')}---\n{pool(spec='terminationGracePeriod: 24h')}---\n{pool('b')}", 1),
    ],
)
def test_pods_that_are_protected_without_end(given: str, n: int) -> None:
    assert len(lint(given, "KS802")) == n


def test_the_period_of_the_pools_of_a_snapshot_counts() -> None:
    cluster = snapshot(node("a"), pool(spec="terminationGracePeriod: 24h"))
    assert lint(protected("apps/v1 Deployment"), "KS802", snapshot=cluster) == []


@pytest.mark.parametrize(
    ("value", "is_ignored"),
    [
        ("true", False),
        ("false", False),
        ("True", True),
        ("yes", True),
        ("1h30m", False),
        ("1d", True),
        ("0s", True),
        ("-1h", True),
        ("${PROTECTED}", False),
    ],
)
def test_values_that_protect_nothing(value: str, is_ignored: bool) -> None:
    message = f'warning: Karpenter ignores the value "{value}": it is neither "true" nor a duration'
    assert found(protected("apps/v1 Deployment", value), "KS806") == ([message] if is_ignored else [])


def event(about: str, name: str, reason: str, component: str) -> str:
    return f"""apiVersion: v1
kind: Event
metadata: {{name: {name}.1, namespace: default}}
involvedObject: {{kind: {about}, name: {name}}}
type: Warning
reason: {reason}
message: said
source: {{component: {component}}}
"""


def batch(value: int) -> str:
    return f"v1 Pod web\npriorityClassName: batch\n---\nscheduling.k8s.io/v1 PriorityClass batch\nvalue: {value}\n"


STATUS = "v1 ConfigMap cluster-autoscaler-status\nnamespace: kube-system\n"
OPENSHIFT = "autoscaling.openshift.io/v1 ClusterAutoscaler default\npodPriorityThreshold: -50\n"


def autoscaler(arguments: str) -> str:
    return f"""apiVersion: apps/v1
kind: Deployment
metadata: {{name: autoscaler}}
spec:
  selector: {{matchLabels: {{app: ca}}}}
  template:
    metadata: {{labels: {{app: ca}}}}
    spec:
      containers:
      - name: ca
        image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.36.0
        command: [./cluster-autoscaler{arguments}]
"""


@pytest.mark.parametrize(
    ("value", "others", "cluster", "cutoff"),
    [
        (-100, "", "", None),
        (-100, STATUS, "", -10),
        (-10, STATUS, "", None),
        (-11, STATUS, "", -10),
        (-100, autoscaler(""), "", -10),
        (-100, autoscaler(", --expendable-pods-priority-cutoff=-1000"), "", None),
        (-100, autoscaler(", --expendable-pods-priority-cutoff=-50"), "", -50),
        (-40, OPENSHIFT, "", None),
        (-60, OPENSHIFT, "", -50),
        (-100, "", snapshot(node("a")), None),
        (-100, "", snapshot(node("a"), autoscaler("").replace("name: autoscaler", "name: cluster-autoscaler")), -10),
        (-100, "", snapshot(node("a"), "coordination.k8s.io/v1 Lease cluster-autoscaler\n"), -10),
        (
            -100,
            "",
            snapshot(node("a"), event("ConfigMap", "status", "FailedToScaleUpGroup", "cluster-autoscaler")),
            -10,
        ),
    ],
)
def test_priorities_below_the_cutoff(value: int, others: str, cluster: str, cutoff: int | None) -> None:
    text = f"{batch(value)}---\n{others}" if others else batch(value)
    expected = f"warning: PriorityClass batch sets priority {value}, below Cluster Autoscaler's cutoff of {cutoff}"
    assert found(text, "KS803", cluster) == (
        [f"{expected}: no node is added for the pods"] if cutoff is not None else []
    )


ARCH = "kubernetes.io/arch"


@pytest.mark.parametrize(
    ("requirements", "labels", "expected"),
    [
        ("kubernetes.io/arch In amd64 arm64\nkubernetes.io/arch NotIn arm64", "", []),
        (
            "kubernetes.io/arch In amd64\nkubernetes.io/arch In arm64",
            "",
            [f"error: no value of {ARCH} is left: {ARCH} In [amd64] and {ARCH} In [arm64]"],
        ),
        (
            "beta.kubernetes.io/arch In amd64\nkubernetes.io/arch NotIn amd64",
            "",
            [f"error: no value of {ARCH} is left: {ARCH} In [amd64] and {ARCH} NotIn [amd64]"],
        ),
        ("team In red", "team: blue", ["error: no value of team is left: team In [blue] and team In [red]"]),
        ("team NotIn red\nteam DoesNotExist", "", []),
        ("team Exists\nteam DoesNotExist", "", ["error: no value of team is left: team Exists and team DoesNotExist"]),
        (
            f"{AWS}/instance-cpu Gt 8\n{AWS}/instance-cpu Lt 8",
            "",
            [
                f"error: no value of {AWS}/instance-cpu is left: "
                f"{AWS}/instance-cpu Exists >=9 and {AWS}/instance-cpu Exists <=7"
            ],
        ),
        (f"{AWS}/instance-cpu Gt 7\n{AWS}/instance-cpu Lt 9", "", []),
        (
            "karpenter.sh/capacity-type In Spot",
            "",
            ["error: karpenter.sh/capacity-type lists Spot, which is no capacity type"],
        ),
        # Karpenter accepts a list with a known value.
        ("karpenter.sh/capacity-type In spot ondemand", "", []),
        ("kubernetes.io/arch In ${ARCH}\nkubernetes.io/arch NotIn amd64", "", []),
    ],
)
def test_requirements_that_contradict_one_another(requirements: str, labels: str, expected: list[str]) -> None:
    assert found(pool("general", requirements, labels=labels), "KS804") == expected


@pytest.mark.parametrize(
    ("requirements", "expected"),
    [
        ("- {key: a, operator: In, values: [p, q], minValues: 2}", []),
        ("- {key: a, operator: Exists, minValues: 20}", []),
        (
            "- {key: a, operator: In, values: [p, q], minValues: 3}",
            ["A: minValues 3 of a is more than the 2 listed values"],
        ),
        ("- {key: a, operator: In, values: []}", ["A: In lists no value of a"]),
        ("- {key: a, operator: Gt, values: [many]}", ["A: Gt compares a with many, not with one whole number"]),
        (
            "- {key: a, operator: In, values: [p, q], minValues: 2}\n      - {key: a, operator: NotIn, values: [q]}",
            ["C: minValues 2 of a is more than the 1 values that are left"],
        ),
    ],
)
def test_requirements_that_karpenter_cannot_use(requirements: str, expected: list[str]) -> None:
    text = pool().replace("requirements: []", f"requirements:\n      {requirements}")
    assert [f"{each.stop}: {each.message}" for each in lint(text, "KS804")] == expected


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("kubernetes.io/arch In amd64", False),
        ("kubernetes.io/arch In arm64", True),
        (f"{AWS}/instance-family In c7g", True),
        ("kubernetes.io/arch In arm64\nnode.kubernetes.io/instance-type Exists", True),
    ],
)
def test_listed_types_that_other_requirements_exclude(more: str, expected: bool) -> None:
    cluster = snapshot(machine("a", "m7g.large", 4, "topology.kubernetes.io/zone: a"))
    text = pool("general", f"node.kubernetes.io/instance-type In m7g.large\n{more}")
    message = "error: the other requirements exclude all instance types that are listed: m7g.large"
    assert found(text, "KS804", cluster) == ([message] if expected else [])
    # A type that the snapshot does not show may meet them.
    assert found(text.replace("m7g.large", "m7g.metal"), "KS804", cluster) == []


@pytest.mark.parametrize(("arch", "is_reported"), [("amd64", True), ("arm64", False)])
def test_a_pool_for_which_karpenter_finds_no_type(arch: str, is_reported: bool) -> None:
    cluster = snapshot(node("a"), AMD_POOL, event("NodePool", "general", "NoCompatibleInstanceTypes", "karpenter"))
    message = "error: Karpenter reports that the requirements exclude all instance types of the cloud"
    given = AMD_POOL.replace("amd64", arch)
    assert found(given, "KS804", cluster) == ([message] if is_reported else [])


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ("cpu: 8", ["the limit of 8 cpu is below the 12 cpu"]),
        ("cpu: 12, memory: 1Ti", []),
        (
            "nodes: 1, memory: 16Gi",
            ["the limit of 1 nodes is below the 2 nodes", "the limit of 16Gi memory is below the 32Gi memory"],
        ),
    ],
)
def test_limits_below_what_runs(limits: str, expected: list[str]) -> None:
    cluster = snapshot(
        machine("a", "m7g.large", 4, OWN), machine("b", "m7g.xlarge", 8, OWN), machine("c", "m7g.metal", 64)
    )
    text = pool(fields=f"limits: {{{limits}}}")
    messages = [each.message for each in lint(text, "KS805", snapshot=cluster)]
    assert messages == [f"{each} that nodes of the pool have: no node is added" for each in expected]


def test_limits_of_a_pool_that_was_read_from_a_cluster() -> None:
    text = f"{pool(fields='limits: {cpu: 8}')}status: {{resources: {{cpu: '12', nodes: '3'}}}}\n"
    assert found(text, "KS805") == [
        "warning: the limit of 8 cpu is below the 12 cpu that nodes of the pool have: no node is added"
    ]
    assert found(pool(fields="limits: {cpu: 8}"), "KS805") == []
