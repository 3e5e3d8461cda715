"""Hundreds of pods on a real control plane: each pod's node is among the best nodes in kschedctl's simulation."""

import json
import re
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec.structs import replace

from conformance.generate.chance import Chance
from kschedctl.objects.pod import Pod
from kschedctl.sources.live.kubeconfig import LiveContext
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.simulate.alike_pods import GATE as BATCHING
from kschedctl.trials.simulate.world import SCHEDULER_ALONE
from tests.builders import load_engine
from tests.live.busy import attempts_so_far
from tests.live.conftest import node, wait_for
from tests.live.control_plane import ControlPlane, free_ports, missing_assets

pytestmark = pytest.mark.live

HOST: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
SCHEDULER: Final = "kube-scheduler"
DEDICATED: Final = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
SPOT: Final = {"key": "spot", "value": "yes", "effect": "PreferNoSchedule"}
#: Every node is scored, one pod after the other.
CONFIG: Final = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "parallelism": 1,
    "percentageOfNodesToScore": 100,
}
#: Reasons why pods are pending.
REASONS: Final = ("Insufficient cpu", "pod anti-affinity rules", "pod topology spread constraints", "untolerated taint")
N_SURGE: Final = 20
_ATTEMPT: Final = re.compile(r'"Attempting to schedule pod" pod="([^"]+)"')
_LONG_AGO: Final = datetime(2026, 1, 1, tzinfo=UTC)
_TICK: Final = 0.15

Object = dict[str, Any]


def _nodes() -> Iterator[Object]:
    for i in range(60):
        taints = [DEDICATED] if i % 10 == 9 else [SPOT] if i % 7 == 3 else []
        made = node(f"node-{i:02}", zone=f"zone-{'abc'[i % 3]}", cpu="9" if i % 2 == 0 else "4", taints=taints)
        made["metadata"]["labels"]["disk"] = "ssd" if i % 5 < 2 else "hdd"
        for kind in ("capacity", "allocatable"):
            made["status"][kind] = {**made["status"][kind], "pods": "14"}
        yield made


def _spread(app: str, key: str, *, must: bool) -> Object:
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule" if must else "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": app}},
    }


def _away_from(app: str) -> Object:
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": HOST}


_SSD: Final = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
_AS_IT_LIKES: Final = {PREFERRED: [{"weight": 30, "preference": _SSD}]}
#: Namespace, name, number of pods, CPU, what else a pod wants.
DEPLOYMENTS: Final[Sequence[tuple[str, str, int, str, Object]]] = (
    (
        "shop",
        "web",
        80,
        "500m",
        {"priorityClassName": "urgent", "topologySpreadConstraints": [_spread("web", ZONE, must=True)]},
    ),
    (
        "shop",
        "api",
        60,
        "700m",
        {
            "priorityClassName": "urgent",
            "affinity": {"podAntiAffinity": {PREFERRED: [{"weight": 50, "podAffinityTerm": _away_from("api")}]}},
        },
    ),
    (
        "shop",
        "cache",
        40,
        "300m",
        {"priorityClassName": "regular", "affinity": {"podAntiAffinity": {REQUIRED: [_away_from("cache")]}}},
    ),
    (
        "data",
        "db",
        30,
        "1500m",
        {
            "priorityClassName": "urgent",
            "tolerations": [{"key": "dedicated", "operator": "Exists"}],
            "affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [_SSD]}}},
        },
    ),
    (
        "data",
        "queue",
        50,
        "400m",
        {
            "priorityClassName": "regular",
            "topologySpreadConstraints": [_spread("queue", key, must=False) for key in (HOST, ZONE)],
        },
    ),
    (
        "data",
        "search",
        60,
        "600m",
        {
            "priorityClassName": "regular",
            "affinity": {"nodeAffinity": _AS_IT_LIKES},
            # Tainted nodes count and stay empty, so that no node gets more than one.
            "topologySpreadConstraints": [_spread("search", HOST, must=True)],
        },
    ),
    ("batch", "report", 80, "900m", {"topologySpreadConstraints": [_spread("report", HOST, must=True)]}),
    ("batch", "train", 30, "3", {"priorityClassName": "regular"}),
    ("batch", "import", 58, "200m", {"affinity": {"podAntiAffinity": {REQUIRED: [_away_from("import")]}}}),
    ("shop", "huge", 12, "64", {"priorityClassName": "urgent"}),
)
#: The number of allowed disruptions by app.
BUDGETS: Final = {"web": 0, "cache": 2, "search": 5, "report": 1, "queue": 0}


def _made(kind: str, name: str, namespace: str = "", api_version: str = "v1", **fields: Any) -> Object:
    metadata: Object = {"name": name, **fields.pop("metadata", {})}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def _surroundings() -> Iterator[Object]:
    for name in ("shop", "data", "batch"):
        yield _made("Namespace", name)
    classes = "scheduling.k8s.io/v1"
    yield _made("PriorityClass", "urgent", api_version=classes, value=1000)
    # Of the pods that wait after the first wave none is to evict others once all are tried again.
    yield _made("PriorityClass", "regular", api_version=classes, value=100, preemptionPolicy="Never")
    for namespace, app, number, cpu, wants in DEPLOYMENTS:
        labels = {"matchLabels": {"app": app}}
        spec = {"replicas": number, "selector": labels, "template": _template(app, cpu, wants)}
        yield _made("Deployment", app, namespace, "apps/v1", spec=spec)
        yield _made("ReplicaSet", f"{app}-7d9f", namespace, "apps/v1", spec=spec)
        if app in BUDGETS:
            yield _made(
                "PodDisruptionBudget", app, namespace, "policy/v1", spec={"maxUnavailable": 5, "selector": labels}
            )


def _template(app: str, cpu: str, wants: Object) -> Object:
    container = {
        "name": "c",
        "image": f"registry.example.com/{app}:1",
        "resources": {"requests": {"cpu": cpu, "memory": "128Mi"}},
    }
    return {
        "metadata": {"labels": {"app": app}},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0, **wants},
    }


def _pods(plane: ControlPlane) -> list[Object]:
    """Return the pods of all Deployments in a mixed order."""
    uids: Object = {each["metadata"]["name"]: each["metadata"]["uid"] for each in plane.get("replicasets")}
    pods = []
    for namespace, app, number, cpu, wants in DEPLOYMENTS:
        owner = f"{app}-7d9f"
        reference = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": owner,
            "uid": uids[owner],
            "controller": True,
        }
        for i in range(number):
            made = _made("Pod", f"{owner}-{i:02}", namespace, **_template(app, cpu, wants))
            made["metadata"]["ownerReferences"] = [reference]
            pods.append(made)
    return Chance("pods").some(pods, len(pods))


class Record:
    """The real scheduler's actions in one step.

    Parameters
    ----------
    before, after : list of object
        All pods before the step and after it.
    attempts : list of str
        The pods that were tried, in order, as ``namespace/name``.
    """

    def __init__(self, before: list[Object], after: list[Object], attempts: list[str]) -> None:
        self.attempts = attempts
        #: The node of each pod; empty for a pending pod.
        self.nodes: dict[str, str] = {_key(pod): pod["spec"].get("nodeName", "") for pod in after}
        self.messages = {_key(pod): _message(pod) for pod in after if not pod["spec"].get("nodeName")}
        self.gone = {_key(pod) for pod in before} - set(self.nodes)

    def again(self) -> dict[str, list[str]]:
        """Return the pods that were tried again, by the last pod before them that was tried for the first time.

        The scheduler sees the event of a binding only after the next attempts, and requeues pods that were tried in
        between. The simulation sees a binding at once.
        """
        found: dict[str, list[str]] = {}
        seen: list[str] = []
        for key in self.attempts:
            if key in seen:
                found.setdefault(seen[-1], []).append(key)
            else:
                seen.append(key)
        return found


class Waves:
    """A cluster whose scheduler is started after all pods of the first wave are created.

    Parameters
    ----------
    plane : ControlPlane
        The running etcd and API server.
    """

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        (self._port,) = free_ports(1)
        self._n_attempts = 0

    def load(self) -> LoadedCluster:
        """Return the current cluster."""
        live = LiveContext(kubeconfig=str(self._plane.kubeconfig))
        return load_engine(live=live, config=CONFIG, feature_gates={BATCHING: False})

    def restart(self) -> Record:
        """Let a new scheduler try all pending pods."""
        before = self._plane.get("pods")
        self._plane.stop(SCHEDULER)
        self._n_attempts = 0
        self._plane.start_scheduler(f"--feature-gates={BATCHING}=false", "-v=3", port=self._port, config=CONFIG)
        return self._record(before, [_key(pod) for pod in before if not pod["spec"].get("nodeName")])

    def create(self, pod: Object) -> Record:
        """Create a pod, and wait for the scheduler's actions."""
        before = self._plane.get("pods")
        self._plane.create([pod])
        return self._record(before, [_key(pod)], placed=True)

    def run_bound_pods(self) -> None:
        """Set bound pods to running like kubelets, each with another start time."""
        pods = [pod for pod in self._plane.get("pods") if pod["spec"].get("nodeName")]
        for i, pod in enumerate(Chance("starts").some(pods, len(pods))):
            since = (_LONG_AGO + timedelta(seconds=i)).strftime("%Y-%m-%dT%H:%M:%SZ")
            pod["status"] |= {"phase": "Running", "startTime": since}
        everything = {"apiVersion": "v1", "kind": "List", "items": pods}
        self._plane.kubectl("replace", "--subresource=status", "-f", "-", given=everything)

    def _record(self, before: list[Object], tried: list[str], *, placed: bool = False) -> Record:
        wait_for(lambda: set(tried) <= set(self._attempts()), "all pods to be tried")
        if placed:
            wait_for(lambda: all(self._node_of(key) for key in tried), f"{tried} to be placed")
        wait_for(self._is_quiet, "the scheduler to come to rest")
        attempts = self._attempts()
        self._n_attempts += len(attempts)
        return Record(before, self._plane.get("pods"), attempts)

    def _node_of(self, key: str) -> str:
        namespace, _, name = key.partition("/")
        return self._plane.kubectl("get", "pod", name, "-n", namespace, "-o", "jsonpath={.spec.nodeName}")

    def _attempts(self) -> list[str]:
        """Return the pods that were tried since the last record."""
        return _ATTEMPT.findall(self._plane.log(SCHEDULER))[self._n_attempts :]

    def _is_quiet(self) -> bool:
        first = attempts_so_far(self._port)
        if first is None:
            return False
        # What is said of pods is written after the attempts, as fast as the scheduler may write.
        pods = self._plane.get("pods")
        time.sleep(_TICK)
        return self._plane.get("pods") == pods and attempts_so_far(self._port) == first


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlPlane]:
    missing = missing_assets()
    if missing:
        pytest.skip(f"no control plane to test against: {missing}")
    plane = ControlPlane(tmp_path)
    try:
        # That plugin would taint nodes that nobody takes for ready later.
        plane.start("--disable-admission-plugins=ServiceAccount,TaintNodesByCondition")
        plane.create([*_nodes(), *_surroundings()])
        for app, allowed in BUDGETS.items():
            _allow(plane, app, allowed)
        plane.create(_pods(plane))
        yield plane
    finally:
        plane.stop()


def _allow(plane: ControlPlane, app: str, allowed: int) -> None:
    namespace = next(where for where, name, *_ in DEPLOYMENTS if name == app)
    status = {"currentHealthy": 40, "desiredHealthy": 40 - allowed, "expectedPods": 40, "disruptionsAllowed": allowed}
    patch = json.dumps({"status": {**status, "observedGeneration": 1}})
    plane.kubectl("patch", "pdb", app, "-n", namespace, "--subresource=status", "--type=merge", "-p", patch)


class Replay:
    """A simulation beside the real scheduler: it repeats the scheduler's random choices.

    Parameters
    ----------
    before : LoadedCluster
        The cluster at the start of a real scheduler.
    first : Record
        The actions of that scheduler on all pending pods.
    """

    def __init__(self, before: LoadedCluster, first: Record) -> None:
        self._record = first
        self._said: dict[str, str] = {}
        cluster = _arrived(before, list(dict.fromkeys(first.attempts)))
        self.simulation = cluster.simulation(choose=self._choose, world=SCHEDULER_ALONE)

    def compare(self, record: Record) -> None:
        """Run the simulation, and check that its outcome is the real scheduler's."""
        self._record = record
        again = {} if record.gone else record.again()
        attempts = []
        for attempt in self.simulation:
            attempts.append(attempt)
            self._said[attempt.pod] = attempt.message
            for key in again.pop(attempt.pod, ()):
                self._said[key] = self._now(key)
        first = list(dict.fromkeys(attempt.pod for attempt in attempts))
        # Victims go one after the other there, and each wakes pods: the order in which these come then is of chance.
        if record.gone:
            assert set(first) == set(record.attempts)
        else:
            assert first == list(dict.fromkeys(record.attempts))
        pods = self.simulation.cluster.pods
        nodes = {pods.key(i): pods.records[i].node_name for i in range(len(pods))}
        assert nodes == record.nodes
        assert {victim for attempt in attempts for victim in attempt.victims} == record.gone
        assert {key: self._said[key] for key, node in nodes.items() if not node} == record.messages

    def _now(self, key: str) -> str:
        """Return the message about a pod at this moment of the simulation."""
        pods = self.simulation.cluster.pods
        return self.simulation.scheduler.decide(pods.pod(pods.index[_names(key)])).message

    def _choose(self, pod: Pod, nodes: Sequence[str]) -> str:
        """Return the node of the real pod, which is one of the best."""
        node = self._record.nodes.get(pod.key, "")
        assert node in nodes, f"{pod.key} is on {node or 'no node'}, ours: {', '.join(nodes)}"
        return node


def test_waves_of_pods_are_placed_as_in_our_simulation(plane: ControlPlane) -> None:
    """The first wave is 500 pods created before the scheduler starts, the next are urgent pods that need victims."""
    waves = Waves(plane)
    before = waves.load()
    record = waves.restart()
    replay = Replay(before, record)
    replay.compare(record)
    assert len(record.nodes) == 500
    said = " ".join(record.messages.values())
    assert [reason for reason in REASONS if reason not in said] == []
    n_waiting = len(record.messages)

    # As every pod is tried again, all messages are told anew.
    waves.run_bound_pods()
    before = waves.load()
    record = waves.restart()
    replay = Replay(before, record)
    replay.compare(record)
    victims = 0
    for i in range(N_SURGE):
        pod = _made("Pod", f"surge-{i:02}", "shop", **_template("surge", "5", {"priorityClassName": "urgent"}))
        record = waves.create(pod)
        replay.simulation.create([before.admit(pod).pod])
        replay.compare(record)
        victims += len(record.gone)
    print(f"{n_waiting} of 500 pods wait; {N_SURGE} urgent ones, {victims} victims")
    assert victims


def _arrived(cluster: LoadedCluster, order: Sequence[str]) -> LoadedCluster:
    """Return the cluster with its pending pods created in that order, those of low priority before all others.

    A starting scheduler receives the pods in random order, and sorts them by priority first.
    """
    pods = [cluster.pods.pod(cluster.pods.index[_names(key)]) for key in order]
    pods.sort(key=lambda pod: pod.spec.priority or 0)
    moments = [_LONG_AGO + timedelta(seconds=i) for i in range(len(pods))]
    came = [
        replace(pod, metadata=replace(pod.metadata, creation_timestamp=moment))
        for pod, moment in zip(pods, moments, strict=True)
    ]
    changed = cluster.cluster.with_pods(added=came)
    return LoadedCluster(replace(cluster.snapshot, cluster=changed), cluster.release_choice)


def _key(pod: Object) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _names(key: str) -> tuple[str, str]:
    namespace, _, name = key.partition("/")
    return namespace, name


def _message(pod: Object) -> str:
    """Return the scheduler's message about a pending pod."""
    said = [each for each in pod["status"].get("conditions", ()) if each["type"] == "PodScheduled"]
    return str(said[0].get("message", "")) if said else ""
