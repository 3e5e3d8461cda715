"""Allocations of claims as data."""

from __future__ import annotations

import msgspec

from kschedctl.objects.device import DeviceRequestAllocationResult
from kschedctl.objects.selectors import NodeSelector, SelectorError, parse_node_term
from kschedctl.questions.answers.devices import AllocationData, GivenData
from kschedctl.scheduler.devices.allocator import NODE_NAME_FIELD, ClaimAllocation


def allocation_data(allocation: ClaimAllocation) -> AllocationData:
    """Return the allocation of a claim as data."""
    selector = allocation.result.node_selector
    return AllocationData(
        claim=allocation.claim.key,
        stored=allocation.stored,
        devices=tuple(map(_given, allocation.result.devices.results)),
        node_selector=None if selector is None else msgspec.to_builtins(selector),
        for_nodes=_nodes(selector),
    )


def _given(result: DeviceRequestAllocationResult) -> GivenData:
    return GivenData(
        request=result.request,
        driver=result.driver,
        pool=result.pool,
        device=result.device,
        admin_access=bool(result.admin_access),
        shared=result.share_id is not None,
        consumed_capacity={name: str(amount) for name, amount in (result.consumed_capacity or {}).items()},
        binding_conditions=result.binding_conditions,
        binding_failure_conditions=result.binding_failure_conditions,
    )


def _nodes(selector: NodeSelector | None) -> str:
    """Return the nodes of a selector as text."""
    if selector is None:
        return "all nodes"
    terms = []
    for term in selector.node_selector_terms:
        try:
            parsed = parse_node_term(term)
        except SelectorError:
            return "nodes of an invalid selector"
        if parsed is None:
            continue
        if not parsed.labels and [(one.key, one.operator) for one in parsed.fields] == [(NODE_NAME_FIELD, "In")]:
            return f"node {parsed.fields[0].values[0]}"
        terms.append(" and ".join(map(str, (*parsed.labels, *parsed.fields))))
    return f"nodes with {' or '.join(terms)}" if terms else "no node"
