"""Stages of the cases with groups of pods: members, groups, nodes and other pods that come or go later."""

import copy
from collections.abc import Callable
from typing import Final

from conformance.generate.chance import GI
from conformance.generate.groups_parts import RACK, Cast, crew, members, minimum, name_of, priority_of, run, singles
from conformance.generate.scene import ZONE, Object, Scene

#: An event adds itself to a stage, if the case has what it needs.
Event = Callable[[Scene, Cast, int, Object], None]


def _create(stage: Object, *objects: Object) -> None:
    stage.setdefault("create", []).extend(objects)


def _delete(s: Scene, stage: Object, *objects: Object) -> None:
    """Delete objects that no stage has deleted yet."""
    gone = [name for past in (*s.then, stage) for name in past.get("delete", ())]
    names = [name for name in map(name_of, objects) if name not in gone]
    if names:
        stage.setdefault("delete", []).extend(names)


def _number(s: Scene, stage: Object) -> int:
    """Return a number for the next pod of a stage that no other pod of a stage has; a stage creates at most ten."""
    return 10 * len(s.then) + len(stage.get("create", ()))


def late_members(s: Scene, cast: Cast, _size: int, stage: Object) -> None:
    """Create the last members of a group later; before any stage may delete them."""
    pods = s.pick(*cast.crews).pods
    if len(pods) > 1 and not s.then and "delete" not in stage:
        n = s.between(1, len(pods) - 1)
        _create(stage, *pods[-n:])
        del pods[-n:]


def more_members(s: Scene, cast: Cast, size: int, stage: Object) -> None:
    """Create members beyond those that the group began with, some of another size."""
    group = s.pick(*cast.crews).group
    _create(stage, *members(s, group, s.between(1, 3), size // s.pick(2, 4, 8), first=200 + _number(s, stage)))


def late_group(s: Scene, cast: Cast, _size: int, stage: Object) -> None:
    """Create a PodGroup after its pods; before any stage may delete it."""
    group = s.pick(*cast.crews).group
    if group in s.others and not s.then and "delete" not in stage:
        s.others.remove(group)
        _create(stage, group)


def group_goes(s: Scene, cast: Cast, _size: int, stage: Object) -> None:
    """Delete a PodGroup; its pods stay."""
    group = s.pick(*cast.crews).group
    if group in s.others and group not in cast.gone:
        _delete(s, stage, group)
        cast.gone.append(group)


def group_again(s: Scene, cast: Cast, _size: int, stage: Object) -> None:
    """Create a PodGroup again that an earlier stage deleted, mostly with another minCount."""
    gone = [group for group in cast.gone if name_of(group) not in stage.get("delete", ())]
    if not gone:
        return
    group = copy.deepcopy(gone[0])
    cast.gone.remove(gone[0])
    group["metadata"] |= {"uid": s.uid(), "creationTimestamp": s.time()}
    least = minimum(s, s.between(1, 4))
    group["spec"]["schedulingPolicy"] = {"basic": {}} if least is None else {"gang": {"minCount": least}}
    _create(stage, group)


def member_goes(s: Scene, cast: Cast, _size: int, stage: Object) -> None:
    """Delete one of the created members, wherever it is then."""
    pods = s.pick(*cast.crews).pods
    if pods:
        _delete(s, stage, s.pick(*pods))


def pod_goes(s: Scene, _cast: Cast, _size: int, stage: Object) -> None:
    """Delete pods that ran from the beginning, unless they were evicted."""
    _delete(s, stage, *s.some(s.pods, 1, 3))


def node_comes(s: Scene, _cast: Cast, size: int, stage: Object) -> None:
    """Create a node with free capacity."""
    labels = {ZONE: s.pick("z1", "z2"), RACK: s.pick("r1", "r2", "r9")}
    s.node(s.name("new"), size * s.pick(1, 2, 4), 16 * GI, labels)
    _create(stage, s.nodes.pop())


def node_goes(s: Scene, _cast: Cast, _size: int, stage: Object) -> None:
    """Delete a node on which nothing ran at the beginning."""
    free = [node for node in s.nodes if not s.on(node["metadata"]["name"])]
    if free and len(s.nodes) > 1:
        _delete(s, stage, s.pick(*free))


def budget_goes(s: Scene, _cast: Cast, _size: int, stage: Object) -> None:
    """Delete a budget, so that its pods are victims like others; it wakes nobody."""
    budgets = s.find("PodDisruptionBudget")
    if budgets:
        _delete(s, stage, s.pick(*budgets))


def single_comes(s: Scene, _cast: Cast, size: int, stage: Object) -> None:
    """Create pods without a group, some of them urgent."""
    _create(stage, *singles(s, s.between(1, 2), (100, size // 2, size), (0, 50, 500)))


def crew_comes(s: Scene, cast: Cast, size: int, stage: Object) -> None:
    """Create another group with its pods, some of it urgent."""
    found = crew(s, s.name("late"), s.between(2, 4), size // s.pick(1, 2, 4), priority=s.pick(0, 10, 200))
    if found.group in s.others:
        s.others.remove(found.group)
        _create(stage, found.group, *found.pods)
        cast.crews.append(found._replace(pods=[]))


def bound_member_comes(s: Scene, cast: Cast, _size: int, stage: Object) -> None:
    """Create a member that is bound already, as by another scheduler."""
    group = s.pick(*cast.crews).group
    for pod in run(s, members(s, group, 1, 100, first=300 + _number(s, stage)), s.some(s.nodes, 1, 1)):
        pod["spec"]["priority"] = priority_of(group)
        _create(stage, pod)


_EVENTS: Final[tuple[tuple[float, Event], ...]] = (
    (3, late_members), (2, more_members), (1, late_group), (1, group_goes), (2, group_again), (2, member_goes),
    (4, pod_goes), (3, node_comes), (0.5, node_goes), (0.7, budget_goes), (2, single_comes), (1.5, crew_comes),
    (1, bound_member_comes),
)  # fmt: skip


def add_stages(s: Scene, cast: Cast, size: int, first: Event | None = None, most: int = 3) -> None:
    """Add up to ``most`` stages of one or two events; the first begins with ``first``."""
    for i in range(s.between(1, most)):
        stage: Object = {}
        if first is not None and i == 0:
            first(s, cast, size, stage)
        for _ in range(s.weighted((3, 1), (1, 2)) - (first is not None and i == 0)):
            s.weighted(*_EVENTS)(s, cast, size, stage)
        if stage:
            s.then.append(stage)
