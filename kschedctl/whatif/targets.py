"""Finding what a change is about, and what to say where it is not there."""

from __future__ import annotations

from collections.abc import Iterable

from kschedctl.api.kind_names import kind_by_name, kind_names
from kschedctl.api.meta import ApiObject
from kschedctl.api.well_known import ZONE, zone_of
from kschedctl.api.wording import listed, similar
from kschedctl.cluster.cluster import Cluster
from kschedctl.errors import InputError


def find_node(cluster: Cluster, name: str) -> int:
    """The row of a node.

    Raises
    ------
    InputError
        Where the cluster has no such node.
    """
    row = cluster.nodes.row.get(name)
    if row is None:
        raise InputError(f"the cluster has no node {name}", hint=near(name, cluster.nodes.names, "nodes"))
    return row


def find_zone(cluster: Cluster, zone: str) -> list[int]:
    """The rows of the nodes of a zone, by the zone label or its predecessor.

    Raises
    ------
    InputError
        Where the cluster has no such zone.
    """
    labels = [node.metadata.labels for node in cluster.nodes.objects]
    zones = [zone_of(own) for own in labels]
    rows = [row for row, found in enumerate(zones) if found == zone]
    if not zone or not rows:
        known = sorted({found for found in zones if found})
        hint = f"the zones are {listed(known)}" if known else f"no node has the label {ZONE}"
        raise InputError(f'the cluster has no node in zone "{zone}"', hint=hint)
    return rows


def find_kind(name: str) -> type[ApiObject]:
    """The kind of a name.

    Raises
    ------
    InputError
        Where no kind that scheduling reads has that name.
    """
    kind = kind_by_name(name)
    if kind is None:
        close = dict.fromkeys(_full_name(other) for other in similar(name.lower(), kind_names()))
        known = sorted({_full_name(other) for other in kind_names()})
        hint = f"did you mean {listed(list(close), 'or')}?" if close else f"the kinds are {', '.join(known)}"
        raise InputError(f'"{name}" is not a kind that scheduling reads', hint=hint)
    return kind


def _full_name(name: str) -> str:
    kind = kind_by_name(name)
    return kind.__name__.lower() if kind is not None else name


def near(name: str, names: Iterable[str], what: str) -> str:
    """A hint for a name that is not among some: the ones it may have been meant for."""
    known = list(dict.fromkeys(names))
    close = similar(name, known)
    if close:
        return f"did you mean {listed(close, 'or')}?"
    return f"the {what} are {listed(known)}" if known else f"there are no {what}"
