"""From a cluster and changes to the cluster that they make, and what was changed in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from kschedctl.api.core import Taint
from kschedctl.api.defaults import DEFAULT_NAMESPACE
from kschedctl.api.kind_names import is_namespaced, kind_by_name
from kschedctl.api.meta import ApiObject
from kschedctl.api.tolerations import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE
from kschedctl.cluster.cluster import Cluster
from kschedctl.errors import InputError
from kschedctl.releases.release import Release
from kschedctl.whatif import deletion, nodes, objects, replicas
from kschedctl.whatif.edits import Apply, Cordon, Delete, Drain, Edit, FailZone, LabelNode, SetReplicas, TaintNode

#: How each change is made.
_MADE_BY: Final[dict[type, Callable[[Cluster, Any], nodes.Changed]]] = {
    Delete: deletion.delete,
    LabelNode: nodes.label,
    TaintNode: nodes.taint,
    Cordon: nodes.cordon,
    Drain: nodes.drain,
    FailZone: nodes.fail_zone,
}
#: Those that can bring new pods, which an API server takes.
_MADE_WITH_PODS: Final[dict[type, Callable[..., nodes.Changed]]] = {
    Apply: objects.apply,
    SetReplicas: replicas.set_replicas,
}
EFFECTS: Final = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)


@dataclass(frozen=True, slots=True)
class Edited:
    """A cluster after some changes.

    Attributes
    ----------
    cluster : Cluster
        The cluster.
    changes : tuple of str
        What was changed, a line each.
    """

    cluster: Cluster
    changes: tuple[str, ...] = ()


def edited(cluster: Cluster, edits: Sequence[Edit], *, release: Release) -> Edited:
    """Make changes to a cluster, one after the other.

    Parameters
    ----------
    cluster : Cluster
        The cluster. It stays as it is.
    edits : sequence of Edit
        The changes.
    release : Release
        The release whose API server takes new pods.

    Raises
    ------
    InputError
        Where two changes contradict each other, or one is about something that is not there.
    """
    _refuse_conflicts(edits)
    made_by = _MADE_BY | {kind: partial(make, release=release) for kind, make in _MADE_WITH_PODS.items()}
    changes: list[str] = []
    for edit in edits:
        try:
            cluster, made = made_by[type(edit)](cluster, edit)
        except InputError as error:
            raise error.at(str(edit)) from None
        changes += made
    return Edited(cluster, tuple(changes))


def _refuse_conflicts(edits: Sequence[Edit]) -> None:
    """Two changes of the same thing cannot both be meant."""
    changed: dict[tuple[object, ...], Edit] = {}
    for edit in edits:
        own = set()
        for thing in _things(edit):
            other = edit if thing in own else changed.get(thing)
            if other is not None:
                what = " ".join(str(part) for part in thing if part)
                if other is edit:
                    problem = f"{what} is in it twice"
                else:
                    problem = "is given twice" if other == edit else f"contradicts: {other}"
                raise InputError(problem, where=str(edit), hint="leave one of them out")
            own.add(thing)
        changed |= dict.fromkeys(own, edit)


def _things(edit: Edit) -> Iterator[tuple[object, ...]]:
    """What an edit changes."""
    match edit:
        case Apply(objects=given, copies=None):
            for obj, _ in given:
                yield _thing(type(obj), obj.namespace, obj.name)
        case Delete(kind=kind, namespace=namespace, name=name):
            yield _thing(kind_by_name(kind), namespace, name)
        case SetReplicas(kind=kind, namespace=namespace, name=name):
            yield ("replicas of", *_thing(kind_by_name(kind), namespace, name))
        case LabelNode(node=node, key=key):
            yield ("label", key, "of", node)
        case TaintNode(node=node, taint=Taint(key=key, effect=effect)):
            for each in (effect,) if effect else EFFECTS:
                yield ("taint", f"{key}:{each}", "of", node)
        case Cordon(node=node):
            yield ("cordon", node)
        case Drain(node=node):
            yield ("drain", node)
        case FailZone(zone=zone):
            yield ("zone", zone)


def _thing(kind: type[ApiObject] | None, namespace: str, name: str) -> tuple[object, ...]:
    if kind is None:
        return ("unknown", name)
    if not is_namespaced(kind):
        return (kind.__name__, name)
    return (kind.__name__, f"{namespace or DEFAULT_NAMESPACE}/{name}")
