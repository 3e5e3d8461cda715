"""Hypothesis strategies for small nodes, pods and clusters that often interact."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.core import Namespace, Node
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.plugins.node_ports import host_ports
from tests.builders import GPU, HOSTNAME, ZONE, make_cluster, make_container, make_namespace, make_node, make_pod

NAMESPACES = {"default": {"team": "a"}, "other": {"team": "b"}}
_TOPOLOGY_KEYS = st.sampled_from([ZONE, HOSTNAME, "rack"])
_KEYS = st.sampled_from(["app", "tier"])
_VALUES = st.sampled_from(["a", "b"])
_QUANTITIES = {
    "cpu": st.sampled_from(["0", "100m", "250m", "0.5", "1", "1500m", "2", "3.3", "1n"]),
    "memory": st.sampled_from(["0", "100Mi", "1Gi", "1.5Gi", "3G", "2500m", "7Gi"]),
    "ephemeral-storage": st.sampled_from(["1Gi", "20Gi"]),
    GPU: st.sampled_from(["1", "2"]),
}

pod_labels = st.dictionaries(_KEYS, _VALUES)
requests = st.fixed_dictionaries({}, optional=_QUANTITIES)
amounts = st.tuples(st.integers(0, 10**6), st.integers(0, 10**4))


def _some(strategy: st.SearchStrategy[Any], most: int = 2) -> st.SearchStrategy[list[Any]]:
    return st.lists(strategy, max_size=most)


_effects = st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"])
_taints = _some(st.builds("{}={}:{}".format, _KEYS, _VALUES, _effects))
_tolerations = _some(
    st.fixed_dictionaries(
        {"operator": st.sampled_from(["Exists", "Equal"])},
        optional={"key": _KEYS, "value": _VALUES, "effect": st.sampled_from(["NoSchedule", "PreferNoSchedule"])},
    )
)

label_selectors = st.one_of(
    st.builds(lambda labels: {"matchLabels": labels}, st.dictionaries(_KEYS, _VALUES, max_size=1)),
    st.builds(
        lambda key, operator, values: {"matchExpressions": [{"key": key, "operator": operator, "values": values}]},
        _KEYS,
        st.sampled_from(["In", "NotIn"]),
        st.lists(_VALUES, min_size=1, max_size=2),
    ),
    st.builds(
        lambda key, operator: {"matchExpressions": [{"key": key, "operator": operator}]},
        _KEYS,
        st.sampled_from(["Exists", "DoesNotExist"]),
    ),
)

_node_requirements = st.one_of(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from(["disk", ZONE]),
            "operator": st.sampled_from(["In", "NotIn"]),
            "values": st.lists(st.sampled_from(["ssd", "hdd", "z1", "z2"]), min_size=1, max_size=2),
        }
    ),
    st.fixed_dictionaries(
        {"key": st.sampled_from(["disk", "cores", ZONE]), "operator": st.sampled_from(["Exists", "DoesNotExist"])}
    ),
    st.fixed_dictionaries(
        {
            "key": st.just("cores"),
            "operator": st.sampled_from(["Gt", "Lt"]),
            "values": st.sampled_from([["2"], ["4"], ["7"]]),
        }
    ),
)
_name_fields = st.fixed_dictionaries(
    {
        "key": st.just("metadata.name"),
        "operator": st.sampled_from(["In", "NotIn"]),
        "values": st.sampled_from([["n0"], ["n1"], ["n9"]]),
    }
)
_node_terms = st.fixed_dictionaries(
    {}, optional={"matchExpressions": _some(_node_requirements), "matchFields": _some(_name_fields, 1)}
)
_node_affinity = st.fixed_dictionaries(
    {},
    optional={
        "requiredDuringSchedulingIgnoredDuringExecution": st.fixed_dictionaries(
            {"nodeSelectorTerms": st.lists(_node_terms, min_size=1, max_size=2)}
        ),
        "preferredDuringSchedulingIgnoredDuringExecution": _some(
            st.fixed_dictionaries({"weight": st.integers(1, 100), "preference": _node_terms})
        ),
    },
)


def _taken(constraint: dict[str, Any]) -> dict[str, Any]:
    """Remove ``matchLabelKeys`` from a constraint with which an API server would reject them."""
    selector = constraint.get("labelSelector")
    if selector is None or "tier" in str(selector):
        constraint.pop("matchLabelKeys", None)
    return constraint


_spread = st.lists(
    st.fixed_dictionaries(
        {
            "topologyKey": _TOPOLOGY_KEYS,
            "maxSkew": st.integers(1, 3),
            "whenUnsatisfiable": st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
        },
        optional={
            "labelSelector": label_selectors,
            "minDomains": st.integers(1, 4),
            "nodeAffinityPolicy": st.sampled_from(["Honor", "Ignore"]),
            "nodeTaintsPolicy": st.sampled_from(["Honor", "Ignore"]),
            "matchLabelKeys": st.just(["tier"]),
        },
    ).map(_taken),
    min_size=1,
    max_size=3,
    # The API server allows a topology key once per whenUnsatisfiable.
    unique_by=lambda constraint: (constraint["topologyKey"], constraint["whenUnsatisfiable"]),
)

_affinity_terms = st.fixed_dictionaries(
    {"topologyKey": _TOPOLOGY_KEYS},
    optional={
        "labelSelector": label_selectors,
        "namespaces": _some(st.sampled_from(sorted(NAMESPACES)), 1),
        "namespaceSelector": st.sampled_from([{}, {"matchLabels": {"team": "b"}}]),
    },
)
_pod_affinity = st.fixed_dictionaries(
    {},
    optional={
        "requiredDuringSchedulingIgnoredDuringExecution": _some(_affinity_terms),
        "preferredDuringSchedulingIgnoredDuringExecution": _some(
            st.fixed_dictionaries({"weight": st.integers(1, 100), "podAffinityTerm": _affinity_terms})
        ),
    },
)

_containers = st.builds(
    lambda asked, restarts: make_container(requests=asked, **({"restartPolicy": "Always"} if restarts else {})),
    requests,
    st.booleans(),
)

_ports = _some(
    st.fixed_dictionaries(
        {"containerPort": st.just(80), "hostPort": st.sampled_from([80, 81])},
        optional={"protocol": st.sampled_from(["TCP", "UDP"]), "hostIP": st.sampled_from(["0.0.0.0", "10.0.0.1"])},
    )
)


@st.composite
def pods(
    draw: st.DrawFn, *aspects: str, name: str = "pod", namespaces: tuple[str, ...] = ("default",), node: str = ""
) -> Pod:
    """Draw a pod with labels and the named aspects.

    Aspects are ``requests``, ``ports``, ``tolerations``, ``nodeSelector``, ``nodeAffinity``, ``spread`` and
    ``podAffinity``.
    """
    spec: dict[str, Any] = {}
    affinity: dict[str, Any] = {}
    container = make_container()
    if "requests" in aspects:
        container = make_container(requests=draw(requests))
        spec["initContainers"] = draw(_some(_containers))
        if draw(st.booleans()):
            spec["overhead"] = draw(requests)
        if draw(st.booleans()):
            asked = draw(st.fixed_dictionaries({}, optional={key: _QUANTITIES[key] for key in ("cpu", "memory")}))
            spec["resources"] = {"requests": asked}
    if "ports" in aspects:
        container["ports"] = draw(_ports)
    if "tolerations" in aspects:
        spec["tolerations"] = draw(_tolerations)
    if "nodeSelector" in aspects:
        spec["nodeSelector"] = draw(st.dictionaries(st.just("disk"), st.sampled_from(["ssd", "hdd"])))
    if "nodeAffinity" in aspects:
        affinity["nodeAffinity"] = draw(_node_affinity)
    if "podAffinity" in aspects:
        affinity["podAffinity"] = draw(_pod_affinity)
        affinity["podAntiAffinity"] = draw(_pod_affinity)
    if "spread" in aspects:
        spec["topologySpreadConstraints"] = draw(_spread)
    labels = draw(pod_labels)
    namespace = draw(st.sampled_from(namespaces))
    return make_pod(
        name, namespace=namespace, labels=labels, node=node, containers=[container], affinity=affinity, **spec
    )


@st.composite
def nodes(draw: st.DrawFn, *aspects: str, most: int = 5) -> list[Node]:
    """Draw one to ``most`` nodes; aspects are ``taints``, ``labels`` and ``offers``."""
    out = []
    for i in range(draw(st.integers(1, most))):
        labels: dict[str, str] = {}
        if "labels" in aspects:
            optional = {
                "disk": st.sampled_from(["ssd", "hdd"]),
                "cores": st.sampled_from(["2", "4", "8", "many"]),
                "rack": st.sampled_from(["r1", "r2"]),
            }
            zone = st.sampled_from(["z1", "z2", "z1", "z2", "z3", ""])
            labels = draw(st.fixed_dictionaries({ZONE: zone}, optional=optional))
            if not labels[ZONE]:
                del labels[ZONE]
        offered: dict[str, Any] = {}
        if "offers" in aspects:
            others = st.fixed_dictionaries({}, optional={GPU: st.just(2), "ephemeral-storage": st.just("9Gi")})
            offered = {
                "cpu": draw(st.sampled_from(["1", "2500m", "4", None])),
                "memory": draw(st.sampled_from(["2Gi", "8G", "8Gi"])),
                "pods": draw(st.sampled_from([1, 3, 110])),
                "offers": draw(others),
            }
        taints = draw(_taints) if "taints" in aspects else []
        out.append(make_node(f"n{i}", labels=labels, taints=taints, **offered))
    return out


def tainted_nodes() -> st.SearchStrategy[list[Node]]:
    """Return a strategy for nodes with taints."""
    return nodes("taints")


def labelled_nodes() -> st.SearchStrategy[list[Node]]:
    """Return a strategy for nodes with labels."""
    return nodes("labels")


@dataclass(frozen=True)
class World:
    """A cluster and the objects that it consists of."""

    nodes: list[Node]
    pods: list[Pod]
    namespaces: list[Namespace]

    @property
    def cluster(self) -> Cluster:
        """The cluster as columns."""
        return make_cluster(self.nodes, self.pods, *self.namespaces)

    def on(self, node: Node) -> list[Pod]:
        """Return the pods on a node."""
        return [pod for pod in self.pods if pod.spec.node_name == node.name]


@st.composite
def worlds(draw: st.DrawFn, *aspects: str, of_nodes: tuple[str, ...] = ("labels",), pending: int = 0) -> World:
    """Draw nodes, up to eight running pods with the named aspects, and ``pending`` pending pods."""
    made = draw(nodes(*of_nodes))
    n_running = draw(st.integers(0, 8))
    running = [
        draw(pods(*aspects, name=f"p{i}", namespaces=tuple(NAMESPACES), node=draw(st.sampled_from(made)).name))
        for i in range(n_running)
    ]
    waiting = [draw(pods(*aspects, name=f"w{i}", namespaces=tuple(NAMESPACES))) for i in range(pending)]
    namespaces = [make_namespace(name, **labels) for name, labels in NAMESPACES.items()]
    return World(made, [*running, *waiting], namespaces)


def uses_ports_once(pods: Iterable[Pod]) -> bool:
    """Report whether no two pods share a host port: the scheduler has one entry for both, and frees it with either."""
    ports = [port for pod in pods for port in host_ports(pod)]
    return len(ports) == len(set(ports))
