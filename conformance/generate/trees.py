"""Trees of groups: sequences of pods whose groups have groups above them, one kind per case, most with stages."""

import copy
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from conformance.generate import groups_stages as stages
from conformance.generate.groups_parts import (
    APIS,
    RACK,
    TOPOLOGY,
    TREES,
    Cast,
    Crew,
    cast,
    crowd,
    members,
    minimum,
    name_of,
    pod_group,
    run,
    singles,
)
from conformance.generate.preemption import budget
from conformance.generate.scene import HOST, ZONE, Object, Scene

#: The shapes of a tree: a number is a group of pods with about as many members, a list a group of groups.
Shape = list[Any]


class Rules(NamedTuple):
    """The fields that the groups of a tree have in common.

    Attributes
    ----------
    workload : str
        The name of the Workload.
    priority : int
        The priority of all groups and pods.
    mode : str or None
        The disruption mode: ``single``, ``all``, or None for none.
    never : bool
        True for the preemption policy Never.
    basic : float
        The probability of the basic policy of the root; a group below a basic one is basic with the same probability.
    """

    workload: str
    priority: int = 0
    mode: str | None = None
    never: bool = False
    basic: float = 0.12


class Tree(NamedTuple):
    """A tree: its groups of groups, the root first, and its groups with their members."""

    inner: list[Object]
    crews: list[Crew]


def _shape(s: Scene, most: int = 3) -> Shape:
    """Return a shape with one to three levels of groups of groups."""

    def leaves(n: int) -> Shape:
        return [s.between(1, most) for _ in range(n)]

    shapes: tuple[tuple[float, Shape], ...] = (
        (4, leaves(s.between(2, 4))),
        (4, [leaves(s.between(1, 3)), leaves(s.between(1, 2))]),
        (2, [leaves(2), *leaves(1)]),
        (1, [[leaves(s.between(1, 2))], *leaves(1)]),
        (1, [leaves(1), leaves(1), leaves(1)]),
    )
    return s.weighted(*shapes)


def _tree(
    s: Scene,
    name: str,
    shape: Shape,
    rules: Rules,
    cpu: int,
    *,
    keys: tuple[str | None, ...] = (),
    running: list[Object] | None = None,
) -> Tree:
    """Add a tree to the objects, with its members.

    Parameters
    ----------
    s : Scene
        The case.
    name : str
        The name of the root, with which the names of the other groups begin.
    shape : list
        The shape.
    rules : Rules
        The fields that all groups have in common.
    cpu : int
        The request of a member, in milli-CPU.
    keys : tuple of (str or None)
        The topology key of each level, from the root down.
    running : list of object or None
        The nodes on which the members run; None for members that are to be created.
    """
    tree = Tree([], [])

    def key(level: int) -> str | None:
        return keys[level] if level < len(keys) else None

    def common(parent: str | None, own: str) -> Object:
        found: Object = {"workloadRef": {"workloadName": rules.workload, "templateName": own}}
        if parent:
            found["parentCompositePodGroupName"] = parent
        return found

    def inner(own: str, parts: Shape, parent: str | None, level: int, basic: bool) -> None:
        group = _composite(s, own, len(parts), rules, basic=basic, topology=key(level))
        group["spec"] |= common(parent, own)
        s.others.append(group)
        tree.inner.append(group)
        for i, part in enumerate(parts):
            below = basic and s.odds(max(rules.basic, 0.4))
            if isinstance(part, list):
                inner(f"{own}-{'abcdef'[i]}", part, own, level + 1, below)
            else:
                leaf(f"{own}-{i + 1}", part, own, level + 1, below)

    def leaf(own: str, n: int, parent: str, level: int, basic: bool) -> None:
        least = None if basic else minimum(s, n) or n
        topology = key(level)
        fields: Object = {"priority": rules.priority, "mode": rules.mode, "never": rules.never, "topology": topology}
        group = pod_group(s, own, least, **fields)
        group["spec"] |= common(parent, own)
        s.others.append(group)
        found = members(s, group, n, cpu, never=rules.never)
        for pod in found:
            pod["spec"]["priority"] = rules.priority
        if running is not None:
            s.pods += run(s, found, s.some(running, 1))
            found = []
        elif s.odds(0.08):
            more = members(s, group, 1, min(cpu, 100), first=100, never=rules.never)
            s.pods += run(s, more, s.some(s.nodes, 1, 1))
        tree.crews.append(Crew(group, found))

    inner(name, shape, None, 0, s.odds(rules.basic))
    return tree


def _composite(s: Scene, name: str, n: int, rules: Rules, *, basic: bool, topology: str | None) -> Object:
    """Return a group of ``n`` groups."""
    api = APIS[s.release]
    least = s.weighted((6, n), (3, max(1, n - 1)), (2, 1), (0.5, n + 1))
    spec: Object = {"schedulingPolicy": {"basic": {}} if basic else {"gang": {"minGroupCount": least}}}
    if topology:
        spec["schedulingConstraints"] = {"topology": [{"key": topology}]}
    if rules.mode and not (basic and rules.mode == "all"):
        spec["disruptionMode"] = copy.deepcopy(api.modes[rules.mode])
    if rules.priority or s.odds(0.5):
        spec["priority"] = rules.priority
    if rules.never or s.odds(0.5):
        spec["preemptionPolicy"] = "Never" if rules.never else "PreemptLowerPriority"
    return {"apiVersion": api.version, "kind": "CompositePodGroup", "metadata": s.meta(name, "default"), "spec": spec}


def _fits(s: Scene) -> tuple[list[Tree], int]:
    """Return trees that fit."""
    size = crowd(s, 0.3, (0,))
    trees = [
        _tree(s, name, _shape(s), Rules(name), size // s.pick(4, 6, 10)) for name in ("job", "run")[: s.pick(1, 1, 2)]
    ]
    return trees, size


def _scarce(s: Scene) -> tuple[list[Tree], int]:
    """Return a tree of which only a part fits."""
    size = crowd(s, s.pick(0.3, 0.6, 0.9), (0,))
    rules = Rules("job", mode=s.pick(None, None, "all"), basic=0.25)
    return [_tree(s, "job", _shape(s, 4), rules, size // s.pick(1, 1, 2, 3))], size


def _domains(s: Scene) -> tuple[list[Tree], int]:
    """Return a tree whose levels each need one domain."""
    size = crowd(s, s.pick(0.0, 0.3, 0.5), (0,))
    for node in s.some(s.nodes, 0, 2):
        node["metadata"]["labels"].pop(s.pick(ZONE, RACK), None)
    keys = s.pick(
        (ZONE,), (ZONE, RACK), (None, RACK), (ZONE, RACK, HOST), (None, None, HOST), (RACK, RACK), (ZONE, ZONE)
    )
    return [_tree(s, "job", _shape(s, 2), Rules("job"), size // s.pick(2, 3, 6), keys=keys)], size


def _urgent(s: Scene) -> tuple[list[Tree], int]:
    """Return an urgent tree on full nodes; some of the possible victims are groups and trees."""
    size = crowd(s, s.pick(0.6, 0.9, 1.0), s.pick((0, 0, 5), (0, 50), (0, 200)), (1, 2))
    if s.odds(0.3):
        budget(s, "pdb", "default", s.pick({}, {"matchLabels": {"app": "web"}}), s.pick(0, 0, 1, 2))
    if s.odds(0.6):
        rules = Rules("old", s.pick(0, 0, 10), s.pick("all", "all", "single", None), basic=0)
        _tree(s, "old", _shape(s, 2), rules, size // s.pick(4, 8), running=s.nodes)
    keys = s.weighted((4, ()), (1, (ZONE,)), (1, (None, RACK)))
    rules = Rules("job", 100, s.pick(None, "all"), never=s.odds(0.12))
    return [_tree(s, "job", _shape(s, 2), rules, size // s.pick(1, 2, 3), keys=keys)], size


def _victims(s: Scene) -> tuple[list[Tree], int]:
    """Return no tree that is to be placed: urgent pods need the capacity of trees that run."""
    size = crowd(s, 0.2, (0,), (2, 3))
    for name in ("old", "older")[: s.pick(1, 1, 2)]:
        rules = Rules(name, s.pick(0, 0, 10), s.pick("all", "all", "single", None), basic=0)
        _tree(s, name, _shape(s, 3), rules, size // s.pick(2, 3), running=s.some(s.nodes, 1))
    return [], size


def _at_odds(s: Scene) -> tuple[list[Tree], int]:
    """Return a tree that its first check refuses."""
    size = crowd(s, 0.4, (0,))
    how = s.number // len(_KINDS) % 9
    shape: Shape = [[[[[1]]]]] if how == 0 else _shape(s, 2)
    tree = _tree(s, "job", shape, Rules("job", s.pick(0, 100), basic=0), size // 4)
    crew = s.pick(*tree.crews)
    group = s.pick(crew.group, *tree.inner[1:])
    if how == 1:
        group["spec"]["workloadRef"]["workloadName"] = "another"
    elif how == 2:
        group["spec"]["priority"] = 7
    elif how == 3:
        tree.inner[0]["spec"]["preemptionPolicy"] = "PreemptLowerPriority"
        group["spec"]["preemptionPolicy"] = "Never"
    elif how == 4:
        group["spec"]["schedulingPolicy"] = {"basic": {}}
    elif how == 5:
        tree.inner[0]["spec"]["disruptionMode"] = {"all": {}}
        crew.group["spec"]["disruptionMode"] = {"single": {}}
    elif how == 6:
        s.pick(*crew.pods)["spec"]["priority"] += 5
    elif how == 7:
        s.profiles = [{"schedulerName": "default-scheduler"}, {"schedulerName": "second"}]
        s.pick(*crew.pods)["spec"]["schedulerName"] = "second"
    elif how == 8:
        s.pick(*crew.pods)["spec"]["preemptionPolicy"] = "Never"
    return [tree], size


def _late_inner(s: Scene, found: Cast, _size: int, stage: Object) -> None:
    """Create a group of groups after the groups below it."""
    inner = s.pick(*[one for one in s.find("CompositePodGroup") if one["metadata"]["name"].startswith("job")])
    if not s.then and "delete" not in stage:
        s.others.remove(inner)
        stage.setdefault("create", []).append(inner)


def _inner_goes(s: Scene, found: Cast, _size: int, stage: Object) -> None:
    """Delete a group of groups; those below it stay."""
    inner = s.pick(*s.find("CompositePodGroup"))
    stage.setdefault("delete", []).append(name_of(inner))


class _Kind(NamedTuple):
    """A kind of case: its trees, the event of its first stage, and the probability of stages."""

    make: Callable[[Scene], tuple[list[Tree], int]]
    first: stages.Event | None = None
    staged: float = 0.3


#: The kinds, in turns.
_KINDS: Final = (
    _Kind(_fits),
    _Kind(_scarce),
    _Kind(_domains),
    _Kind(_urgent),
    _Kind(_scarce, stages.late_members, 1),
    _Kind(_victims, None, 0),
    _Kind(_at_odds, None, 0.1),
    _Kind(_fits, _late_inner, 1),
    _Kind(_domains),
    _Kind(_scarce, stages.node_comes, 1),
    _Kind(_urgent),
    _Kind(_fits, stages.late_group, 1),
    _Kind(_scarce, stages.pod_goes, 1),
    _Kind(_fits, _inner_goes, 1),
    _Kind(_victims, None, 0),
)


def trees(s: Scene) -> None:
    """Add one of the kinds, pods without a group, and stages."""
    if s.release not in TREES:
        raise ValueError(f"{s.release} does not try trees of groups")
    s.gates |= dict.fromkeys(("GenericWorkload", TOPOLOGY, "CompositePodGroup"), True)
    kind = _KINDS[s.number % len(_KINDS)]
    found, size = kind.make(s)
    few = (100, size // 3) if found else (size // 2, size)
    alone = singles(s, s.between(0 if found else 1, 3), few, (0, 50) if found else (50, 100))
    crews = [crew for tree in found for crew in tree.crews]
    if crews and s.odds(kind.staged):
        stages.add_stages(s, cast(crews, alone), size, kind.first, most=2)
    pods = [*(pod for crew in crews for pod in crew.pods), *alone]
    if s.odds(0.3):
        s.random.shuffle(pods)
    s.sequence = pods
