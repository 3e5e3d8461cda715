"""Features of 1.38: empty selectors, pod-level resources in scores, exact arithmetic, victims that start together.

Only 1.38 and later releases answer these cases: older ones leave some of them to chance, such as victims of equal age.
"""

from typing import Any, Final

from conformance.generate.chance import GI, MI
from conformance.generate.config import shape
from conformance.generate.preemption import budget
from conformance.generate.release138_devices import (
    broken_pools,
    counted,
    fractions,
    negative,
    qualified,
    resource_names,
    rules,
    unshared,
    versions,
)
from conformance.generate.scene import APPS, GPU, HOST, ZONE, Object, Scene
from conformance.generate.start import squeeze
from conformance.generate.storage import CAPACITY, claim, csi_driver, mount, mount_source, on_hosts, storage_class

_MLDSA: Final = ("MLDSA44", "MLDSA65", "MLDSA87")
_DECLARED: Final = ("PodCertificateMLDSA", "SecurityProfileOCI", "RestartAllContainersOnContainerExits")
#: Quantities whose sum, or whose hundredfold, exceeds 64 bits.
_HUGE: Final = ("90Pi", "200Pi", "1Ei", "3Ei", "4Ei", "7Ei", "9E", "8Ei", "9223372036854775807")


def _every_pod(s: Scene) -> Object | None:
    """Return a selector: mostly an empty one, which selects every pod since 1.38."""
    like = {"matchLabels": {"app": s.pick(*APPS)}}
    absent = {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}
    choices: tuple[tuple[float, Object | None], ...] = (
        (6, {}), (2, {"matchLabels": {}}), (1, None), (1, like), (1, absent),
    )  # fmt: skip
    return s.weighted(*choices)


def _spread(s: Scene) -> None:
    """Spread pods by constraints that select every pod of the namespace."""
    home = s.pod["metadata"]["namespace"]
    for node in s.nodes:
        for _ in range(s.pick(0, 0, 1, 2, 4)):
            labels = {} if s.odds(0.3) else s.labels()
            namespace = home if s.odds(0.8) else "team-a"
            s.add_pod("spreader", namespace, labels, node=node["metadata"]["name"], cpu=50, memory=32 * MI)
    constraints: list[Object] = []
    for key in s.some((ZONE, HOST), 1, 2):
        hard = s.odds(0.6)
        found: Object = {"maxSkew": s.pick(1, 1, 2, 5), "topologyKey": key}
        found["whenUnsatisfiable"] = "DoNotSchedule" if hard else "ScheduleAnyway"
        if (selector := _every_pod(s)) is not None:
            found["labelSelector"] = selector
            if s.odds(0.15):
                found["matchLabelKeys"] = ["app"]
        if hard and s.odds(0.25):
            found["minDomains"] = s.between(2, 5)
        constraints.append(found)
    if s.odds(0.15):
        del s.pod["metadata"]["labels"]
        for found in constraints:
            found.pop("matchLabelKeys", None)
    s.pod["spec"]["topologySpreadConstraints"] = constraints
    if s.odds(0.2):
        s.taint_some()
    if s.odds(0.15):
        pod = s.add_pod("nominated", home, priority=s.pick(0, 100))
        pod["status"]["nominatedNodeName"] = s.any_node()


def _protected(s: Scene) -> None:
    """Fill the nodes with victims that budgets of every pod protect, also pods without labels."""
    for node in s.nodes:
        node["status"]["allocatable"] |= {"cpu": "2", "memory": "8Gi"}
        for _ in range(s.pick(2, 2, 2, 3)):
            labels = {} if s.odds(0.4) else s.labels()
            namespace, name = s.weighted((4, "default"), (1, "prod")), node["metadata"]["name"]
            s.add_pod("low", namespace, labels, node=name, priority=s.pick(0, 0, 5), cpu=900, memory=64 * MI)
    # One budget of a namespace: of two that protect the same pod, the order of the scheduler's cache decides.
    for namespace in ("default", *s.pick((), ("prod",))):
        gone = [pod["metadata"]["name"] for pod in s.some(s.pods, 0, 1)] if s.odds(0.2) else []
        budget(s, f"pdb-{namespace}", namespace, _every_pod(s), s.pick(0, 0, 1, 2), gone)
    s.pod["spec"] |= {"containers": [s.container(cpu=s.pick(900, 1800), memory=128 * MI)], "priority": 100}


def _strategy(s: Scene) -> None:
    """Configure NodeResourcesFit's score."""
    resources = [{"name": name, "weight": s.pick(1, 1, 3)} for name in s.some(("cpu", "memory", GPU), 1, 3)]
    kind = s.pick("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
    found: Object = {"type": kind, "resources": resources}
    if kind == "RequestedToCapacityRatio":
        found["requestedToCapacityRatio"] = {"shape": shape(s)}
    s.plugin_args("NodeResourcesFit", scoringStrategy=found)


def _pod_level(s: Scene) -> None:
    """Score a pod by its pod-level resources; its containers request less, or nothing."""
    for node in s.nodes:
        cpu, memory = s.pick(2000, 4000, 8000), s.pick(4, 8, 16) * GI
        node["status"]["allocatable"] |= {"cpu": s.cpu(cpu), "memory": s.memory(memory)}
        for _ in range(s.pick(0, 1, 1, 2)):
            pod = s.add_pod("ballast", node=node["metadata"]["name"], cpu=s.pick(None, 100, 400))
            if s.odds(0.4):
                pod["spec"]["resources"] = {"requests": {"cpu": s.cpu(s.pick(0, 500, 900))}}
    spec = s.pod["spec"]
    small = ((None, None), (100, None), (None, 128 * MI), (50, 64 * MI))
    spec["containers"] = [s.container(f"c{i}", *s.pick(*small)) for i in range(s.pick(1, 1, 2, 3))]
    if s.odds(0.25):
        spec["initContainers"] = [s.container("init", s.pick(None, 300), None)]
    whole = {"cpu": s.cpu(s.pick(592, 1000, 1500)), "memory": s.memory(s.pick(1, 2, 3) * GI)}
    if s.odds(0.3):
        del whole[s.pick("cpu", "memory")]
    if s.odds(0.2):  # 0 counts as 0, not as the default of a container without requests
        for container in spec["containers"]:
            container["resources"] = {}
        spec.pop("initContainers", None)
        whole = dict.fromkeys(whole, "0")
    spec["resources"] = {s.weighted((5, "requests"), (1, "limits")): whole}
    if s.odds(0.15):
        spec |= {"overhead": {"cpu": "250m", "memory": "120Mi"}, "runtimeClassName": "kata"}
    if s.odds(0.5):
        _strategy(s)


def _sums(s: Scene) -> None:
    """Add requests whose sum exceeds 64 bits, on nodes that are as large."""
    for node in s.nodes:
        node["status"]["allocatable"] |= {"cpu": "8", "memory": s.pick(*_HUGE), "ephemeral-storage": s.pick(*_HUGE)}
        if s.odds(0.4):
            s.offer(node, GPU, s.pick("8", "9223372036854775807"))
        for _ in range(s.pick(0, 1, 1, 2, 3)):
            pod = s.add_pod("large", "default", s.labels(), node=node["metadata"]["name"], priority=s.pick(0, -10))
            _ask_much(s, pod)
    _ask_much(s, s.pod)
    if s.odds(0.3):
        s.pod["spec"]["priority"] = 100
    if s.odds(0.4):
        _strategy(s)


def _ask_much(s: Scene, pod: Object) -> None:
    """Set huge requests, in one or two containers."""
    pod["spec"]["containers"] = [s.container(f"c{i}", cpu=s.pick(50, 100)) for i in range(s.pick(1, 1, 2))]
    for container in pod["spec"]["containers"]:
        requests = container["resources"]["requests"]
        requests["memory"] = s.pick("64Mi", "64Mi", *_HUGE)
        if s.odds(0.3):
            requests["ephemeral-storage"] = s.pick("1Gi", *_HUGE)
        if s.odds(0.15):
            container["resources"]["limits"] = {GPU: "9223372036854775807"}
            requests[GPU] = "9223372036854775807"
    if s.odds(0.1):
        pod["spec"]["resources"] = {"requests": {"memory": s.pick(*_HUGE)}}


def _fractions(s: Scene) -> None:
    """Score shares of huge amounts, which need 128 bits."""
    for node in s.nodes:
        node["status"]["allocatable"] |= {"cpu": s.pick("4", "100P"), "memory": s.pick("8Gi", "91P", "93P", *_HUGE)}
        for _ in range(s.pick(0, 1, 2)):
            pod = s.add_pod("large", "default", s.labels(), node=node["metadata"]["name"])
            pod["spec"]["containers"][0]["resources"]["requests"]["memory"] = s.pick("1Gi", "45P", "90Pi", "1Ei")
    requests = {"cpu": s.pick("100m", "1"), "memory": s.pick("1Gi", "46P", "92P", "100Pi", "1Ei")}
    s.pod["spec"]["containers"] = [s.container() | {"resources": {"requests": requests}}]
    _strategy(s)


def _storage(s: Scene) -> None:
    """Add claims and storage capacities whose sizes exceed 64 bits, or differ by less than a byte."""
    s.namespace("kube-system")
    csi_driver(s, CAPACITY, storageCapacity=True)
    storage_class(s, "fast", CAPACITY)
    sizes = ("1Gi", "1073741823500m", "1073741824500m", "9Ei", "9223372036854775807", "9223372036854775808", "10Ei")
    for name in s.node_names():
        if s.odds(0.85):
            meta = s.meta(s.name("cap"), "kube-system")
            reach = on_hosts(s, [name])["required"]["nodeSelectorTerms"][0]["matchExpressions"][0]["values"]
            fields: Object = {"capacity": s.pick(*sizes), "nodeTopology": {"matchLabels": {HOST: reach[0]}}}
            if s.odds(0.3):
                fields["maximumVolumeSize"] = s.pick(*sizes)
            s.add("storage.k8s.io/v1", "CSIStorageCapacity", meta, storageClassName="fast", **fields)
    for _ in range(s.pick(1, 1, 2)):
        name = s.name("dyn")
        found = claim(s, name, "fast")
        found["spec"]["resources"]["requests"]["storage"] = s.pick(*sizes)
        mount(s.pod, name)


def _together(s: Scene) -> None:
    """Add victims that started at the same time, or not yet: their UIDs decide."""
    s.pods = []
    together = s.time()
    for node in s.nodes:
        node["status"]["allocatable"] |= {"cpu": "2", "memory": "8Gi"}
        n = s.pick(1, 2, 2, 4)
        for _ in range(n):
            name, priority = node["metadata"]["name"], s.pick(0, 0, 0, 5)
            pod = s.add_pod("low", "default", s.labels(), node=name, priority=priority, cpu=2000 // n, memory=64 * MI)
            # Start times of equal victims only; the pick among nodes compares them too.
            since = s.weighted((6, together), (1, None), (1, s.time()))
            if since is None:
                del pod["status"]["startTime"]
            else:
                pod["status"]["startTime"] = since
    if s.odds(0.3):
        budget(s, "pdb", "default", {"matchLabels": {"app": s.pick(*APPS)}}, s.pick(0, 1))
    cpu = s.pick(400, 900, 1000, 2000)
    s.pod["spec"] |= {"containers": [s.container(cpu=cpu, memory=128 * MI)], "priority": 100}


def _declared(s: Scene) -> None:
    """Let the pod need features that 1.38 infers: certificates with ML-DSA keys, and OCI seccomp profiles."""
    for node in s.nodes:
        if s.odds(0.85):
            node["status"]["declaredFeatures"] = sorted(s.some(_DECLARED, 0))
    spec = s.pod["spec"]
    if s.odds(0.65):
        keys = s.weighted((5, s.pick(*_MLDSA)), (1, s.pick("ED25519", "ECDSAP256")))
        certificate = {"signerName": "example.com/signer", "keyType": keys, "credentialBundlePath": "bundle.pem"}
        sources: list[Object] = [{"podCertificate": certificate}]
        if s.odds(0.3):
            sources.insert(0, {"downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}})
        mount_source(s.pod, "certificate", projected={"sources": sources})
    if s.odds(0.5):
        profile: Object = {"seccompProfile": {"type": s.pick("OCI", "OCI", "OCI", "RuntimeDefault")}}
        where = s.pick("pod", "container", "init", "ephemeral")
        if where == "pod":
            spec["securityContext"] = profile
        elif where == "container":
            spec["containers"][0]["securityContext"] = profile
        else:
            field = "initContainers" if where == "init" else "ephemeralContainers"
            spec[field] = [s.container("other") | {"securityContext": profile}]
    if s.odds(0.2):
        spec["priority"] = 100
        squeeze(s)


def _configured(s: Scene) -> None:
    """Add a configuration that 1.38 accepts or rejects otherwise than older releases."""
    gated: Any = {"percentageOfPlacementsToScore": s.pick(0, 50, 100)}
    gang, other = [{"name": "GangScheduling"}], [{"name": s.pick("NodeName", "NoSuchPlugin")}]
    reserved = [{"name": "DefaultPreemption"}]
    how = s.number // len(_KINDS) % 6
    if how == 0:
        s.profile().update(gated)
    else:
        choices = (
            ("placementFeasible", gang), ("permit", gang), ("placementFeasible", other), ("reserve", reserved),
            ("placementFeasible", [*gang, *other]),
        )  # fmt: skip
        point, names = choices[how - 1]
        s.plugins(point, "enabled").extend(names)


_KINDS: Final = (
    _spread, versions, _pod_level, broken_pools, _protected, fractions, _sums, qualified, _together, unshared,
    _declared, negative, _fractions, resource_names, _spread, rules, _storage, counted, _together, _configured,
    _pod_level,
)  # fmt: skip


def release138(s: Scene) -> None:
    """Add the next kind in rotation; 10 % of the cases also have tainted nodes."""
    _KINDS[s.number % len(_KINDS)](s)
    if s.odds(0.1):
        s.taint_some()
