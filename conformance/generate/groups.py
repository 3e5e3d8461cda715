"""Groups of pods: sequences of gangs and basic groups, one kind per case, most of them with stages."""

from collections.abc import Callable
from typing import Final, NamedTuple

from conformance.generate import groups_stages as stages
from conformance.generate.groups_parts import (
    APIS,
    RACK,
    TOPOLOGY,
    Cast,
    cast,
    crew,
    crowd,
    members,
    minimum,
    pod_group,
    run,
    set_gates,
    singles,
)
from conformance.generate.interpod import interpod
from conformance.generate.nodeaffinity import nodeaffinity
from conformance.generate.ports import ports
from conformance.generate.preemption import budgets
from conformance.generate.scene import GPU, HOST, ZONE, Object, Scene
from conformance.generate.spread import spread
from conformance.generate.taints import taints


def _topology(s: Scene) -> str | None:
    return s.weighted((5, None), (2, ZONE), (2, RACK), (1, HOST))


def _fits(s: Scene) -> tuple[Cast, int]:
    """Return groups that all fit."""
    size = crowd(s, 0.3, (0,))
    crews = [
        crew(s, f"g{i}", s.between(1, 6), size // s.pick(4, 8, 10), topology=_topology(s))
        for i in range(1, s.between(1, 3) + 1)
    ]
    return cast(crews, singles(s, s.between(0, 3), (100, 500))), size


def _scarce(s: Scene) -> tuple[Cast, int]:
    """Return a group that fits in part, or with a lower minCount."""
    size = crowd(s, s.pick(0.3, 0.6, 0.9), (0,))
    found = crew(s, "g1", s.between(4, 12), size // s.pick(1, 2, 2, 3), mode=s.pick(None, "all"), topology=_topology(s))
    return cast([found], singles(s, s.between(0, 4), (100, size // 3))), size


def _rivals(s: Scene) -> tuple[Cast, int]:
    """Return groups of several priorities that do not all fit."""
    size = crowd(s, s.pick(0.1, 0.3, 0.5), (0, 10))
    crews = []
    for i in range(1, s.between(2, 4) + 1):
        mode, priority = s.pick(None, "all", "single"), s.pick(0, 0, 0, 10, 100)
        n, cpu = s.between(2, 6), size // s.pick(1, 2, 2, 3)
        crews.append(crew(s, f"g{i}", n, cpu, priority=priority, mode=mode, topology=s.pick(None, None, ZONE)))
    return cast(crews, singles(s, s.between(0, 4), (100, size // 2), (0, 10, 100))), size


def _urgent(s: Scene) -> tuple[Cast, int]:
    """Return an urgent group on full nodes; some of the possible victims are protected or belong to groups."""
    tiers = s.weighted((4, (0, 0, 5)), (3, (-10, 0, 10, 50)), (0.5, (200,)), (1, (0, 200)), (2, (0, 50, 99, 100)))
    size = crowd(s, s.pick(0.7, 0.9, 1.0), tiers, s.pick((1, 2, 3), (1,), (2, 4)))
    if s.odds(0.5):
        budgets(s)
    for i in range(s.weighted((3, 0), (3, 1), (1, 2))):
        _running(s, f"old{i}", size // s.pick(3, 4, 8), s.pick(0, 0, 10, 100))
    least = s.pick("all", "drawn")
    n = s.between(2, 6)
    never, priority = s.odds(0.1), s.pick(100, 100, 1000)
    topology = s.weighted((4, None), (1, ZONE), (1, RACK))
    found = crew(
        s, "g1", n, size // s.pick(1, 2, 2, 3, 3), least=n if least == "all" else minimum(s, n), priority=priority,
        never=never, topology=topology,
    )  # fmt: skip
    return cast([found], singles(s, s.between(0, 3), (100, size // 3), (0, 50, 150))), size


def _running(s: Scene, name: str, cpu: int, priority: int) -> None:
    """Add a group whose members all run."""
    group = pod_group(s, name, s.pick(1, 2, 3, None), priority=priority, mode=s.pick("all", "all", "single", None))
    s.others.append(group)
    nodes = s.some(s.nodes, 1, 3)
    s.pods += run(s, members(s, group, s.between(2, 5), cpu, first=100), nodes)


def _preempted(s: Scene) -> tuple[Cast, int]:
    """Return urgent pods that need the capacity of running groups."""
    half = s.nodes[: len(s.nodes) // 2]
    size = crowd(s, s.pick(0.3, 0.7), (0, 5), (2, 3))
    s.pods = [pod for pod in s.pods if pod["spec"]["nodeName"] in {node["metadata"]["name"] for node in half}]
    for i in range(s.between(1, 3)):
        _running(s, f"run{i}", size // s.pick(2, 3), s.pick(0, 0, 5, 10))
    if s.odds(0.4):
        budgets(s)
    crews = [crew(s, "g1", s.between(1, 4), size // s.pick(1, 2), priority=s.pick(5, 100))] if s.odds(0.6) else []
    urgent = singles(s, s.between(1, 5), (size // 2, size - 100, size), (50, 100))
    return cast(crews, urgent), size


def _domains(s: Scene) -> tuple[Cast, int]:
    """Return groups that need one domain, which members that run may fix, and which nodes may lack."""
    s.gates[TOPOLOGY] = True
    size = crowd(s, s.pick(0.0, 0.2, 0.5), (0,))
    for node in s.some(s.nodes, 0, 3):
        node["metadata"]["labels"].pop(s.pick(ZONE, RACK, HOST), None)
    crews = []
    for i in range(1, s.between(1, 2) + 1):
        n, key = s.between(2, 8), s.weighted((3, ZONE), (3, RACK), (1, HOST), (0.5, "example.com/none"))
        group = crew(s, f"g{i}", n, size // s.pick(2, 3, 6), topology=key, priority=s.pick(0, 0, 100))
        crews.append(group)
        if s.odds(0.4):
            _fix_domain(s, group.group, key)
    return cast(crews, singles(s, s.between(0, 3), (100, 500), (0, 50))), size


def _fix_domain(s: Scene, group: Object, key: str) -> None:
    """Let a member run, or several in one or more domains; at most one of them in none, as an error names any."""
    nodes = s.some([node for node in s.nodes if key in node["metadata"]["labels"]], 1, s.weighted((3, 1), (1, 3)))
    if not nodes or s.odds(0.15):
        nodes = s.some([node for node in s.nodes if key not in node["metadata"]["labels"]], 1, 1)
    wanted = {"podGroupName": group["metadata"]["name"]}
    if nodes and not any(pod["spec"].get("schedulingGroup") == wanted for pod in s.pods):
        s.pods += run(s, members(s, group, len(nodes), 100, first=150), nodes)


def _particular(s: Scene) -> tuple[Cast, int]:
    """Return groups whose pods have rules of their own."""
    size = crowd(s, 0.3, (0,))
    rules = (taints, nodeaffinity, spread, interpod, ports)
    crews = [
        crew(s, f"g{i}", s.between(2, 6), size // s.pick(3, 6), topology=_topology(s), features=s.some(rules, 1, 2))
        for i in range(1, s.between(1, 2) + 1)
    ]
    return cast(crews, singles(s, s.between(0, 2), (100,))), size


def _hardware(s: Scene) -> tuple[Cast, int]:
    """Return groups that request GPUs."""
    size = crowd(s, 0.2, (0,))
    for node in s.some(s.nodes, 1):
        s.offer(node, GPU, str(s.pick(1, 2, 4, 8)))
    crews = []
    for i in range(1, s.between(1, 3) + 1):
        priority, topology = s.pick(0, 0, 10), s.pick(None, None, ZONE, RACK)
        n, gpus = s.between(2, 6), s.pick(1, 1, 2, 4)
        crews.append(crew(s, f"g{i}", n, s.pick(100, 500), priority=priority, topology=topology, gpus=gpus))
    return cast(crews, singles(s, s.between(0, 2), (100,))), size


def _promised(s: Scene) -> tuple[Cast, int]:
    """Return a group with nominated members, whose victims may still be there."""
    size = crowd(s, s.pick(0.6, 1.0), (0,), (1, 2))
    n = s.between(2, 4)
    found = crew(s, "g1", n, size // 2, priority=100)
    leaving = s.some(s.pods, 1, 3)
    for pod in leaving:
        if s.odds(0.8):
            s.terminate(pod, preempted=s.odds(0.85))
    for pod in found.pods:
        if leaving and s.odds(0.8):
            free = s.pick(*s.node_names(), "no-such-node")
            pod["status"]["nominatedNodeName"] = s.pick(*leaving)["spec"]["nodeName"] if s.odds(0.85) else free
    if leaving and s.odds(0.6):
        gone = [
            {"kind": "Pod", "namespace": pod["metadata"]["namespace"], "name": pod["metadata"]["name"]}
            for pod in leaving
        ]
        s.then.append({"delete": gone})
    return cast([found], singles(s, s.between(0, 3), (100, size // 3), (0, 50, 200))), size


def _at_odds(s: Scene) -> tuple[Cast, int]:
    """Return a group whose members do not agree, or that another scheduler takes part of."""
    size = crowd(s, 0.5, (0,))
    found = crew(s, "g1", s.between(2, 5), size // s.pick(2, 4), priority=s.pick(0, 100))
    odd, everyone = s.pick(*found.pods), found.pods
    ways = ("profile", "priority", "policy", "gate", "every priority", "other scheduler", "every policy")
    how = ways[s.number // len(_KINDS) % len(ways)]
    if how == "priority":
        odd["spec"]["priority"] += 5
    elif how == "every priority":
        for pod in everyone:
            pod["spec"]["priority"] += 10
    elif how == "policy":
        odd["spec"]["preemptionPolicy"] = "Never"
    elif how == "every policy":
        for pod in everyone:
            pod["spec"]["preemptionPolicy"] = "Never"
    elif how == "profile":
        s.profiles = [{"schedulerName": "default-scheduler"}, {"schedulerName": "second"}]
        odd["spec"]["schedulerName"] = "second"
    elif how == "other scheduler":
        odd["spec"]["schedulerName"] = "nobody"
    else:
        odd["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    return cast([found], singles(s, s.between(1, 3), (100, 500))), size


def _namesakes(s: Scene) -> tuple[Cast, int]:
    """Return groups of one name in two namespaces, of which one may lack the PodGroup."""
    size = crowd(s, 0.4, (0,))
    crews = [crew(s, "g1", s.between(2, 5), size // s.pick(2, 4, 6), namespace=space) for space in ("default", "prod")]
    if s.odds(0.3):
        s.others.remove(crews[1].group)
    return cast(crews, singles(s, s.between(0, 2), (100,))), size


class _Kind(NamedTuple):
    """A kind of case: its groups and pods, the event of its first stage, and the probability of stages."""

    make: Callable[[Scene], tuple[Cast, int]]
    first: stages.Event | None = None
    staged: float = 0.35


#: The kinds, in turns.
_KINDS: Final = (
    _Kind(_fits),
    _Kind(_urgent),
    _Kind(_scarce, stages.late_members, 0.8),
    _Kind(_domains),
    _Kind(_rivals),
    _Kind(_preempted),
    _Kind(_scarce),
    _Kind(_fits, stages.late_group, 1),
    _Kind(_urgent),
    _Kind(_urgent, stages.crew_comes, 0.7),
    _Kind(_particular),
    _Kind(_scarce, stages.node_comes, 1),
    _Kind(_promised),
    _Kind(_domains),
    _Kind(_rivals, stages.group_goes, 1),
    _Kind(_hardware),
    _Kind(_urgent),
    _Kind(_at_odds),
    _Kind(_preempted),
    _Kind(_scarce, stages.pod_goes, 1),
    _Kind(_urgent, stages.budget_goes, 0.7),
    _Kind(_namesakes),
    _Kind(_fits, stages.group_goes, 1),
    _Kind(_urgent),
)


def groups(s: Scene) -> None:
    """Add one of the kinds, and stages."""
    if s.release not in APIS:
        raise ValueError(f"{s.release} does not try groups of pods")
    set_gates(s)
    kind = _KINDS[s.number % len(_KINDS)]
    found, size = kind.make(s)
    if found.crews and s.odds(kind.staged):
        stages.add_stages(s, found, size, kind.first)
    s.sequence = _in_turns(s, [*(crew.pods for crew in found.crews), found.singles])


def _in_turns(s: Scene, lists: list[list[Object]]) -> list[Object]:
    """Return the pods of all lists, one list after the other or interleaved."""
    left = [list(pods) for pods in lists if pods]
    if s.odds(0.5):
        return [pod for pods in left for pod in pods]
    found: list[Object] = []
    while left:
        pods = s.pick(*left)
        n = s.between(1, len(pods))
        found += pods[:n]
        del pods[:n]
        left = [pods for pods in left if pods]
    return found
