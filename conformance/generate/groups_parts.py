"""Parts of the cases with groups of pods: the API of each release, crowded clusters, groups with their members."""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from conformance.generate.chance import MI
from conformance.generate.scene import GPU, Object, Scene

RACK: Final = "example.com/rack"
TOPOLOGY: Final = "TopologyAwareWorkloadScheduling"
BY_GROUP: Final = "WorkloadAwarePreemption"
POLICY: Final = "PodGroupPreemptionPolicy"


class Api(NamedTuple):
    """The API of groups in a release, and the feature gates of its cases.

    Attributes
    ----------
    version : str
        The ``apiVersion`` of PodGroup and Workload.
    modes : mapping of str to object
        The value of ``disruptionMode`` by the name that it has since 1.37.
    reference : callable
        From the name of a Workload to the fields of a PodGroup that refer to it.
    gates : mapping of str to float
        The gates beside GenericWorkload, each with the probability that a case sets it.
    prioritized : str
        The gate under which ``priority`` and ``disruptionMode`` have an effect.
    preempts : str
        The gate under which ``preemptionPolicy`` has an effect.
    basic_all : bool
        True if an API server accepts the disruption mode ``all`` with the basic policy.
    """

    version: str
    modes: Mapping[str, Any]
    reference: Callable[[str], Object]
    gates: Mapping[str, float]
    prioritized: str
    preempts: str = POLICY
    basic_all: bool = True


_TEMPLATE: Final = "workers"

#: The releases that try groups of pods.
APIS: Final[Mapping[str, Api]] = {
    "1.36": Api(
        "scheduling.k8s.io/v1alpha2",
        {"single": "Pod", "all": "PodGroup"},
        lambda name: {
            "podGroupTemplateRef": {"workload": {"workloadName": name, "podGroupTemplateName": _TEMPLATE}}
        },
        {"GangScheduling": 0.96, TOPOLOGY: 0.5, BY_GROUP: 0.65},
        BY_GROUP,
    ),
    "1.37": Api(
        "scheduling.k8s.io/v1beta1",
        {"single": {"single": {}}, "all": {"all": {}}},
        lambda name: {"workloadRef": {"workloadName": name, "templateName": _TEMPLATE}},
        {TOPOLOGY: 0.5, POLICY: 0.25},
        "GenericWorkload",
    ),
    "1.38": Api(
        "scheduling.k8s.io/v1beta1",
        {"single": {"single": {}}, "all": {"all": {}}},
        lambda name: {"workloadRef": {"workloadName": name, "templateName": _TEMPLATE}},
        {TOPOLOGY: 0.5},
        "GenericWorkload",
        preempts="GenericWorkload",
        basic_all=False,
    ),
}  # fmt: skip

#: The releases that try trees of groups.
TREES: Final = ("1.38",)


class Crew(NamedTuple):
    """A group and its members that are to be created."""

    group: Object
    pods: list[Object]


class Cast(NamedTuple):
    """The groups of a case, its pods without a group, and the groups that a stage has deleted for now."""

    crews: list[Crew]
    singles: list[Object]
    gone: list[Object]


def cast(crews: list[Crew], singles: list[Object]) -> Cast:
    """Return the groups and pods of a case before any stage."""
    return Cast(crews, singles, [])


def set_gates(s: Scene) -> None:
    """Set the feature gates of the case."""
    s.gates["GenericWorkload"] = True
    for gate, odds in APIS[s.release].gates.items():
        if s.odds(odds):
            s.gates[gate] = True
    if "GangScheduling" not in s.gates:
        s.gates.pop(BY_GROUP, None)  # which depends on it


def crowd(s: Scene, share: float, tiers: Sequence[int], parts: Sequence[int] = (1, 2, 3), size: int = 0) -> int:
    """Give the nodes racks and about one size, and fill a share of each; return the size in milli-CPU."""
    size = size or s.pick(2000, 4000, 4000, 8000)
    for node in s.nodes:
        labels, name = node["metadata"]["labels"], node["metadata"]["name"]
        labels[RACK] = f"r{s.between(1, 5)}"
        own = size * s.weighted((5, 1), (1, 2))
        node["status"]["allocatable"]["cpu"] = node["status"]["capacity"]["cpu"] = s.cpu(own)
        n = s.pick(*parts)
        for _ in range(n):
            if s.odds(share):
                cpu = own // n - s.pick(0, 0, 50)
                s.add_pod("old", "default", s.labels(), node=name, priority=s.pick(*tiers), cpu=cpu, memory=64 * MI)
    return size


def minimum(s: Scene, n: int) -> int | None:
    """Return a minCount for a group of ``n`` pods, mostly all of them; None for the basic policy."""
    return s.weighted(
        (6, n), (2, max(1, n - 1)), (1, max(1, n // 2)), (0.5, 1), (0.7, n + 1), (1, None),
    )  # fmt: skip


def pod_group(
    s: Scene,
    name: str,
    least: int | None,
    *,
    namespace: str = "default",
    priority: int = 0,
    mode: str | None = None,
    topology: str | None = None,
    never: bool = False,
) -> Object:
    """Return a PodGroup, with the fields that the gates of the case let an API server store.

    Parameters
    ----------
    s : Scene
        The case.
    name : str
        The name.
    least : int or None
        minCount of a gang; None for the basic policy.
    namespace : str
        The namespace.
    priority : int
        The priority; 0 may be left out.
    mode : str or None
        ``single`` or ``all``; None leaves the mode out.
    topology : str or None
        The label key of the domain that all members share.
    never : bool
        True for the preemption policy Never.
    """
    api = APIS[s.release]
    policy: Object = {"basic": {}} if least is None else {"gang": {"minCount": least}}
    spec: Object = {"schedulingPolicy": policy}
    if topology and TOPOLOGY in s.gates:
        spec["schedulingConstraints"] = {"topology": [{"key": topology}]}
    if api.prioritized in s.gates:
        if mode and (api.basic_all or least is not None or mode != "all"):
            spec["disruptionMode"] = copy.deepcopy(api.modes[mode])
        if priority or s.odds(0.5):
            spec["priority"] = priority
    if api.preempts in s.gates and (never or s.odds(0.7)):
        spec["preemptionPolicy"] = "Never" if never else "PreemptLowerPriority"
    if s.odds(0.25):
        spec |= api.reference(f"of-{name}")
        templates = [{"name": _TEMPLATE, "schedulingPolicy": policy}]
        s.add(api.version, "Workload", s.meta(f"of-{name}", namespace), spec={"podGroupTemplates": templates})
    return {"apiVersion": api.version, "kind": "PodGroup", "metadata": s.meta(name, namespace), "spec": spec}


def members(
    s: Scene,
    group: Object,
    n: int,
    cpu: int,
    *,
    first: int = 1,
    never: bool = False,
    gpus: int = 0,
    features: Iterable[Callable[[Scene], None]] = (),
) -> list[Object]:
    """Return pods of a group, all from one template; ``cpu`` is in milli-CPU, ``first`` is the number of the first."""
    meta = group["metadata"]
    containers = [s.container(cpu=cpu, memory=s.pick(64, 256, 512) * MI)]
    s.pod = s.new_pod("incoming", meta["namespace"], {"app": meta["name"]}, containers=containers)
    if gpus:
        resources = containers[0]["resources"]
        resources["limits"] = {GPU: str(gpus)}
        resources["requests"][GPU] = str(gpus)
    for feature in features:
        feature(s)
    spec = s.pod["spec"]
    spec["priority"] = priority_of(group)
    spec["schedulingGroup"] = {"podGroupName": meta["name"]}
    if never:
        spec["preemptionPolicy"] = "Never"
    spec.pop("nodeName", None)
    found = []
    for i in range(first, first + n):
        pod = copy.deepcopy(s.pod)
        pod["metadata"] |= {"name": f"{meta['name']}-{i}", "uid": s.uid()}
        found.append(pod)
    return found


def name_of(found: Object) -> Object:
    """Return the name by which a stage deletes an object."""
    meta = found["metadata"]
    return {"kind": found["kind"], **{key: meta[key] for key in ("namespace", "name") if key in meta}}


def priority_of(group: Object) -> int:
    """Return the priority of a group."""
    return int(group["spec"].get("priority", 0))


def run(s: Scene, pods: Iterable[Object], nodes: Sequence[Object]) -> list[Object]:
    """Return the pods as they run on the nodes in turn."""
    found = []
    for i, pod in enumerate(pods):
        start = s.time()
        pod["spec"]["nodeName"] = nodes[i % len(nodes)]["metadata"]["name"]
        pod["status"] = {"phase": "Running", "qosClass": "Burstable", "startTime": start}
        found.append(pod)
    return found


def crew(s: Scene, name: str, n: int, cpu: int, **fields: Any) -> Crew:
    """Return a group of ``n`` pods and add it to the objects; ``fields`` are those of ``pod_group`` and ``members``.

    Some members already run, are being deleted, have a scheduling gate, or a priority of their own.
    """
    own = {key: fields.pop(key) for key in ("gpus", "features") if key in fields}
    least = fields.pop("least") if "least" in fields else minimum(s, n)
    group = pod_group(s, name, least, **fields)
    s.others.append(group)
    never = bool(fields.get("never")) or s.odds(0.03)
    pods = members(s, group, n, cpu, never=never, **own)
    if s.odds(0.12):
        s.pods += run(
            s, members(s, group, s.between(1, 2), min(cpu, 100), first=100, never=never), s.some(s.nodes, 1, 2)
        )
    if s.odds(0.06):
        s.pick(*pods)["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    if s.odds(0.02):
        s.pick(*pods)["spec"]["priority"] += s.pick(-5, 5, 1000)
    if s.odds(0.03):
        s.terminate(s.pick(*pods))
    return Crew(group, pods)


def singles(s: Scene, n: int, sizes: Sequence[int], tiers: Sequence[int] = (0,)) -> list[Object]:
    """Return pods without a group; ``sizes`` are requests in milli-CPU, ``tiers`` are priorities."""
    found = []
    for _ in range(n):
        containers = [s.container(cpu=s.pick(*sizes), memory=128 * MI)]
        pod = s.new_pod(s.name("single"), "default", s.labels(), priority=s.pick(*tiers), containers=containers)
        if s.odds(0.06):
            pod["spec"]["preemptionPolicy"] = "Never"
        if s.odds(0.03):
            pod["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
        found.append(pod)
    return found
