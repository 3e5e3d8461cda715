"""The sections about a pod's ResourceClaims: their allocations by node, and the reasons if there are none."""

from __future__ import annotations

from typing import Final

from kschedctl.questions.answers.explain import ClaimsData, NodeData
from kschedctl.questions.presentation.allocation import allocation_lines
from kschedctl.questions.presentation.devices import places_section
from kschedctl.questions.presentation.document import GAP, INDENT, Document, Heading, Paragraph, Verbatim
from kschedctl.questions.presentation.tone import Tone
from kschedctl.scheduler.devices.explain import NotAllocated

_HEADING: Final = "ResourceClaims"


def claims_section(claims: ClaimsData, *, every_node: bool) -> Document:
    """Lay out the nodes on which the claims can be used, in groups."""
    if claims.places:
        yield Heading(_HEADING)
        yield from places_section(claims.places, every=every_node, names_claims=True)


def node_claims_section(claims: ClaimsData, node: NodeData) -> Document:
    """Lay out the allocations of the claims on one node, or the selectors that reject its devices."""
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
