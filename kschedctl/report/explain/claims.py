"""What a pod's claims for devices get on each node, and why nothing on others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from kschedctl.arrays import Rows
from kschedctl.devices.explain import NotAllocated
from kschedctl.devices.places import Place, together
from kschedctl.plugins.dynamic_resources.allocation import allocations_on
from kschedctl.plugins.dynamic_resources.plugin import DynamicResources
from kschedctl.report.devices.allocation import allocation_data, allocation_lines
from kschedctl.report.devices.answer import place_data
from kschedctl.report.devices.data import AllocationData
from kschedctl.report.devices.text import places_section
from kschedctl.report.document import GAP, INDENT, Document, Paragraph, Tone, Verbatim
from kschedctl.report.explain.data import ClaimsData, NodeData, ReasonData
from kschedctl.scheduler.decision import Decision

_HEADING: Final = "Claims for devices"


def claims_data(decision: Decision, nodes: Sequence[NodeData]) -> ClaimsData:
    """What the pod's claims get, whatever else the nodes are turned away for.

    Parameters
    ----------
    decision : Decision
        The decision for a pod.
    nodes : sequence of NodeData
        What is said of the nodes, in the order of their rows.
    """
    places: list[Place] = []
    allocations: dict[str, tuple[AllocationData, ...]] = {}
    for row, node in enumerate(nodes):
        rows = np.array([row], dtype=np.int64)
        found = allocations_on(decision.state, row)
        if found:
            places.append(Place(rows, found))
            allocations[node.name] = tuple(map(allocation_data, found))
        places += [_refused(rows, reason) for reason in node.reasons if reason.plugin == DynamicResources.name]
    groups = tuple(place_data(place, decision.cluster, names_claims=True) for place in together(places))
    return ClaimsData(groups, allocations)


def _refused(rows: Rows, reason: ReasonData) -> Place:
    if isinstance(reason.operands, NotAllocated):
        return Place(rows, refusal=reason.text, reason=reason.operands)
    return Place(rows, refusal=reason.detail or reason.text)


def claims_section(claims: ClaimsData, *, every_node: bool) -> Document:
    """Lay out where the claims can be used, by groups of nodes."""
    if claims.places:
        yield GAP
        yield Paragraph(_HEADING, Tone.STRONG)
        yield from places_section(claims.places, every=every_node, names_claims=True)


def node_claims_section(claims: ClaimsData, node: NodeData) -> Document:
    """Lay out what the claims get on one node, or which selectors turn its devices away."""
    allocations = claims.allocations.get(node.name, ())
    lines = [line for allocation in allocations for line in allocation_lines(allocation, names_claim=True)]
    found = (reason.operands for reason in node.reasons)
    selectors = [text for one in found if isinstance(one, NotAllocated) for text in one.selectors()]
    if lines or selectors:
        yield GAP
        yield Paragraph(_HEADING, Tone.STRONG, INDENT)
    for line in lines:
        yield Verbatim(line)
    for text in selectors:
        yield Paragraph(text, indent=INDENT)
