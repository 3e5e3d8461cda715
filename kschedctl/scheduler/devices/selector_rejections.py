"""Devices rejected by selectors: their number, and the fields that a selector read. For explanations only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from kschedctl.common.findings import shortened
from kschedctl.scheduler.devices.requests import Alternative
from kschedctl.scheduler.devices.site import NodeDevices


class SelectorRejection(msgspec.Struct, frozen=True, rename="camel"):
    """A selector that rejects devices which passed the selectors before it.

    Attributes
    ----------
    of : str
        The owner of the selector: ``class NAME`` or ``request NAME``.
    selector : str
        The CEL expression.
    devices : int
        The number of devices that it rejects.
    example : str
        The first rejected device, ``driver/pool/device``.
    values : dict of str to (str or None)
        The fields that it reads on this device: attributes and capacities by name, ``None`` if absent.
    """

    of: str
    selector: str
    devices: int
    example: str
    values: dict[str, str | None]

    def words(self) -> str:
        """Return ``class gpu-large rejects 2: DRIVER/POOL/DEVICE has memory 40Gi; its selector is EXPRESSION``."""
        has = [f"{name} {value}" for name, value in self.values.items() if value is not None]
        lacks = [name for name, value in self.values.items() if value is None]
        seen = [*(["has " + ", ".join(has)] if has else []), *(["has no " + ", ".join(lacks)] if lacks else [])]
        example = f"{self.example} {' and '.join(seen)}" if seen else f"such as {self.example}"
        selector = shortened(" ".join(self.selector.split()))
        return f"{self.of} rejects {self.devices}: {example}; its selector is {selector}"


def turned_away(asked: Alternative, site: NodeDevices, devices: Sequence[int]) -> Iterator[SelectorRejection]:
    """Yield the selectors of a request and its class that reject devices, in evaluation order.

    Parameters
    ----------
    asked : Alternative
        The request.
    devices : sequence of int
        The numbers of the candidate devices at the site.
    """
    inventory = site.inventory
    found = inventory.device_class(asked.device_class)
    selectors = [(f"class {asked.device_class}", one) for one in (() if found is None else found.spec.selectors)]
    left = list(devices)
    for of, selector in (*selectors, *((f"request {asked.full_name}", one) for one in asked.selectors)):
        expression = "" if selector.cel is None else selector.cel.expression
        answers, _ = inventory.answers(expression)
        gone = [device for device in left if answers[site.numbers[device]] != 1]
        if gone:
            known, device = site.device_id(gone[0]), site.device(gone[0])
            values = inventory.selector(expression).values(known.driver, device)
            yield SelectorRejection(of, expression, len(gone), str(known), values)
            left = [device for device in left if answers[site.numbers[device]] == 1]
