"""Lines of text for the allocations of claims."""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.common.wording import listed
from kschedctl.questions.answers.devices import AllocationData, GivenData


def allocation_lines(allocation: AllocationData, *, names_claim: bool) -> Iterator[str]:
    """Yield a line with the claim and the nodes that its allocation is for, then a line per device.

    Parameters
    ----------
    allocation : AllocationData
        The allocation.
    names_claim : bool
        True to name the claim.
    """
    has = ", allocated" if allocation.stored else ""
    claim = f"claim {allocation.claim}{has} " if names_claim else ""
    yield f"{claim}for {allocation.for_nodes}:"
    for given in allocation.devices:
        yield f"  {given.request}: {given.name}{''.join(f', {note}' for note in _notes(given))}"


def _notes(given: GivenData) -> Iterator[str]:
    if given.admin_access:
        yield "for admin access"
    if given.shared:
        amounts = [f"{name} {amount}" for name, amount in given.consumed_capacity.items()]
        yield f"a share{' of ' + listed(amounts) if amounts else ''}"
    if given.binding_conditions:
        yield f"binding waits for {listed(given.binding_conditions)}"
