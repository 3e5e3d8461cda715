"""Preemption: full nodes, disruption budgets, ties at each criterion, nominations, and victims that block otherwise."""

from collections.abc import Sequence
from typing import Final

from conformance.generate.chance import GI, MI
from conformance.generate.interpod import anti
from conformance.generate.nodeaffinity import REQUIRED
from conformance.generate.scene import APPS, GPU, HOST, ZONE, Object, Scene
from conformance.generate.storage import mount_source
from conformance.generate.volumes_kinds import single

_TIERS: Final = (-1000, -10, 0, 0, 10, 100, 1000, 1000000)
_PORT: Final = {"containerPort": 80, "hostPort": 8080, "protocol": "TCP"}


def budget(
    s: Scene, name: str, namespace: str, selector: Object | None, allowed: int, gone: Sequence[str] = ()
) -> None:
    """Add a PodDisruptionBudget with ``allowed`` disruptions left; ``gone`` are its disrupted pods."""
    spec: Object = {s.pick("minAvailable", "maxUnavailable"): s.pick(1, 2, "50%")}
    if selector is not None:
        spec["selector"] = selector
    health = {"currentHealthy": 2, "desiredHealthy": 2 - min(allowed, 2), "expectedPods": 2, "observedGeneration": 1}
    status: Object = {"disruptionsAllowed": allowed, **health}
    if gone:
        status["disruptedPods"] = {pod: s.time() for pod in gone}
    s.add("policy/v1", "PodDisruptionBudget", s.meta(name, namespace), spec=spec, status=status)


def budgets(s: Scene) -> None:
    """Add up to four budgets that select apps, all pods, or none."""
    for i in range(s.weighted((2, 0), (3, 1), (4, 2), (2, 4))):
        among = {"matchExpressions": [{"key": "app", "operator": "In", "values": s.some(APPS, 1, 3)}]}
        app, front = {"matchLabels": {"app": s.pick(*APPS)}}, {"matchLabels": {"tier": "front"}}
        selector: Object | None = s.weighted((6, app), (1, {}), (1, None), (2, among), (1, front))
        gone = [pod["metadata"]["name"] for pod in s.some(s.pods, 0, 2)] if s.odds(0.2) else []
        namespace = s.weighted((6, "default"), (1, "prod"), (1, "team-a"))
        budget(s, f"pdb-{i}", namespace, selector, s.weighted((4, 0), (3, 1), (1, 2), (1, 5)), gone)


def fill_nodes(s: Scene, tiers: Sequence[int], want: int) -> None:
    """Fill the nodes, so that a pod that requests ``want`` milli-CPU needs victims on most of them."""
    for node in s.nodes:
        cpu = s.pick(1000, 2000, 4000)
        node["status"]["allocatable"] |= {"cpu": s.cpu(cpu), "memory": s.memory(8 * GI)}
        left, name = cpu - s.pick(0, 0, want // 2), node["metadata"]["name"]
        while left > 0:
            size = min(left, s.pick(100, 200, 250, 500, 1000))
            left -= size
            if s.odds(0.05):
                continue
            namespace, memory = s.weighted((5, "default"), (1, "prod")), s.pick(64, 128, 256) * MI
            pod = s.add_pod("low", namespace, s.labels(), node=name, priority=s.pick(*tiers), cpu=size, memory=memory)
            if s.odds(0.04):
                s.terminate(pod, preempted=s.odds(0.5))
            if s.odds(0.02):
                del pod["spec"]["priority"]


def _ask(s: Scene, cpu: int, priority: int) -> None:
    s.pod["spec"] |= {"containers": [s.container(cpu=cpu, memory=128 * MI)], "priority": priority}


def _ask_one_more(pod: Object, resource: str, count: str) -> None:
    for kind in ("requests", "limits"):
        pod["spec"]["containers"][0]["resources"].setdefault(kind, {})[resource] = count


def _full(s: Scene) -> None:
    """Fill the nodes with pods of which all, some or none have a lower priority than the pod to schedule."""
    want = s.pick(200, 500, 900, 1000, 2000)
    fill_nodes(s, s.weighted((3, _TIERS), (2, (0, 10)), (1, (0,)), (2, (-10, 0, 100))), want)
    _ask(s, want, s.weighted((3, 1000), (2, 100), (2, 11), (1, 0), (1, -10), (1, 2000000)))
    if s.odds(0.3):  # a second resource is exhausted as well
        for node in s.nodes:
            if s.odds(0.7):
                s.offer(node, GPU, "2")
                for pod in s.on(node["metadata"]["name"])[:2]:
                    _ask_one_more(pod, GPU, "1")
        _ask_one_more(s.pod, GPU, s.pick("1", "2"))


def _never(s: Scene) -> None:
    _full(s)
    s.pod["spec"]["preemptionPolicy"] = "Never"


def _hopeless(s: Scene) -> None:
    """Make some or all nodes unfit for a reason that no eviction resolves."""
    _full(s)
    how = s.pick("taint", "selector", "huge", "cordon", "some")
    for node in s.nodes:
        if how == "taint":
            node["spec"]["taints"] = [{"key": "dedicated", "value": s.pick("a", "b"), "effect": "NoSchedule"}]
        elif how == "cordon":
            node["spec"]["unschedulable"] = True
        elif how == "some" and s.odds(0.5):
            node["spec"]["taints"] = [{"key": "dedicated", "effect": "NoExecute"}]
    if how == "selector":
        s.pod["spec"]["nodeSelector"] = {"no": "such"}
    elif how == "huge":
        _ask(s, 64000, s.pod["spec"]["priority"])


def _ties(s: Scene) -> None:
    """Make every node a candidate; candidates are equal up to one of the criteria, or in all of them."""
    level = s.pick("budget", "budget", "highest", "sum", "count", "start", "all", "all")
    base = s.pick((10,), (10, 5), (10, 5, 5), (100, 0, 0))
    s.pods, s.nodes = [], s.nodes if s.n_nodes else s.nodes[:6]
    for node in s.nodes:
        node["status"]["allocatable"] |= {"cpu": "3", "memory": "8Gi"}
        priorities = list(base)
        if level == "all" and s.odds(0.3):
            priorities = list(s.pick((10,), (10, 5), (10, 5, 5), (100, 0, 0)))
        elif level == "highest":
            priorities[0] += s.pick(0, 0, 1, 2)
        elif level == "sum" and len(priorities) > 1:
            priorities[1] += s.pick(0, 0, 1, -1)
        elif level == "sum":
            priorities.append(s.pick(1, 2))
        elif level == "count":
            # Every victim adds 2^31 to the priority sum, so the count decides only if priorities differ by as much.
            priorities = list(s.pick((10, 0), (10, -(1 << 30), -(1 << 30)), (10, -(1 << 30), -(1 << 30))))
        for i, priority in enumerate(priorities):
            app = "web" if level == "budget" and s.odds(0.5) else "api"
            size, name = 3000 // len(priorities), node["metadata"]["name"]
            pod = s.add_pod("tie", "default", {"app": app}, node=name, priority=priority, cpu=size, memory=64 * MI)
            if level in ("all", "start"):  # start times on the same node must differ all the same
                spread = 0 if level == "all" else s.between(0, 5000) * 3
                pod["status"]["startTime"] = s.time(100000 + spread + i)
    if level == "budget" or s.odds(0.3):
        budget(s, "pdb-web", "default", {"matchLabels": {"app": "web"}}, s.pick(0, 0, 1))
    if s.odds(0.3):
        budget(s, "pdb-api", "default", {"matchLabels": {"app": "api"}}, s.pick(0, 1, 2))
    _ask(s, 3000 if level == "count" else s.pick(3000, 2900, 1500), 1000)


def _nominated(s: Scene) -> None:
    """Add nominated pods of other priorities, whose capacity is reserved but not yet free."""
    want = s.pick(500, 1000)
    if s.odds(0.7):
        fill_nodes(s, (-10, 0, 10), want)
    _ask(s, want, 100)
    for _ in range(s.between(1, 4)):
        priority, cpu = s.pick(0, 99, 100, 101, 1000), s.pick(250, 500, 1000, 4000)
        pod = s.add_pod("waiting", "default", s.labels(), priority=priority, cpu=cpu, memory=128 * MI)
        pod["status"]["nominatedNodeName"] = s.any_node() if s.odds(0.95) else "no-such-node"
        if s.odds(0.1):
            pod["spec"]["schedulerName"] = "other-scheduler"
        if s.odds(0.2):
            app = s.pod["metadata"].get("labels", {}).get("app", "web")
            pod["spec"]["affinity"] = anti(HOST, {"app": app})
        if s.odds(0.15):
            for one in (pod, s.pod):
                one["spec"]["containers"][0]["ports"] = [dict(_PORT)]


def _preempted_before(s: Scene) -> None:
    """Give the pod to schedule a nomination from an earlier preemption."""
    fill_nodes(s, (-10, 0, 10), 1000)
    _ask(s, 1000, 100)
    mine = s.any_node()
    s.pod["status"]["nominatedNodeName"] = mine if s.odds(0.95) else "no-such-node"
    here = [pod for pod in s.on(mine) if "deletionTimestamp" not in pod["metadata"]]
    kind = s.weighted((4, "terminating"), (2, "otherwise"), (1, "none"), (1, "unresolvable"), (2, "fits"))
    if kind in ("terminating", "otherwise"):
        for pod in s.some(here, 1, 2):
            s.terminate(pod, preempted=kind == "terminating")
            if kind == "otherwise" and s.odds(0.5):
                reason, status = s.pick("EvictionByEvictionAPI", "PreemptionByScheduler"), s.pick("True", "False")
                condition = {"type": "DisruptionTarget", "status": status, "reason": reason, "message": ""}
                pod["status"]["conditions"].append(condition | {"lastTransitionTime": s.time()})
    elif kind == "unresolvable":
        node = next(node for node in s.nodes if node["metadata"]["name"] == mine)
        node["spec"]["taints"] = [{"key": "dedicated", "effect": "NoSchedule"}]
        for pod in here[:1]:
            s.terminate(pod, preempted=True)
    elif kind == "fits":
        s.pods = [pod for pod in s.pods if pod["spec"].get("nodeName") != mine or s.odds(0.2)]


def _equals(s: Scene) -> None:
    """Fill the nodes with pods that, with few exceptions, have the same or a higher priority."""
    want = s.pick(500, 1000)
    fill_nodes(s, s.pick((100,), (100, 1000), (1000,), (100, 100, 100, 50)), want)
    _ask(s, want, 100)


def _entangled(s: Scene) -> None:
    """Add victims that block the pod otherwise than by their resource requests."""
    how = s.pick("anti", "theirs", "affinity", "spread", "ports", "single", "disk", "pods")
    spec, namespace = s.pod["spec"], s.pod["metadata"]["namespace"]
    s.pod["metadata"]["labels"] = {"app": "web"}
    for node in s.nodes:
        name = node["metadata"]["name"]
        for _ in range(s.between(1 if how == "pods" else 0, 3)):
            priority = s.pick(0, 0, 50, 100, 200)
            labels = {"app": s.pick("web", "api")}
            pod = s.add_pod("near", namespace, labels, node=name, priority=priority, cpu=100, memory=64 * MI)
            if how == "theirs" and s.odds(0.6):
                pod["spec"]["affinity"] = anti(s.pick(HOST, ZONE), {"app": "web"})
            elif how == "ports" and not any(other["spec"]["containers"][0].get("ports") for other in s.on(name)):
                pod["spec"]["containers"][0]["ports"] = [dict(_PORT)]
            elif how == "disk" and s.odds(0.7):
                mount_source(pod, awsElasticBlockStore={"volumeID": "vol-1", "fsType": "ext4"})
        if how == "pods":
            node["status"]["allocatable"]["pods"] = str(len(s.on(name)) - s.pick(0, 0, 0, 1))
    if how == "anti":
        spec["affinity"] = anti(s.pick(HOST, HOST, ZONE), {"app": s.pick("web", "api")})
    elif how == "affinity":
        terms = [{"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "api"}}}]
        spec["affinity"] = {"podAffinity": {REQUIRED: terms}}
        spec["containers"] = [s.container(cpu=3000, memory=64 * MI)]
    elif how == "spread":
        constraint: Object = {"maxSkew": 1, "topologyKey": s.pick(HOST, ZONE), "whenUnsatisfiable": "DoNotSchedule"}
        constraint["labelSelector"] = {"matchLabels": {"app": "web"}}
        spec["topologySpreadConstraints"] = [constraint]
        if s.odds(0.6):
            constraint["minDomains"] = 30
        else:
            for node in s.some(s.nodes, 1):
                node["spec"]["unschedulable"] = True
    elif how == "ports":
        spec["containers"][0]["ports"] = [dict(_PORT)]
    elif how == "disk":
        mount_source(s.pod, awsElasticBlockStore={"volumeID": "vol-1", "fsType": "ext4"})
    elif how == "single":
        single(s)
    spec["priority"] = 100


def preemption(s: Scene) -> None:
    """Add one of the kinds, with budgets."""
    s.pods = [pod for pod in s.pods if s.odds(0.2)]
    kind = s.weighted(
        (5, _full), (9, _ties), (4, _nominated), (3, _preempted_before), (1, _never), (1.5, _hopeless), (7, _entangled),
        (2, _equals),
    )  # fmt: skip
    kind(s)
    if kind is not _ties:
        budgets(s)
