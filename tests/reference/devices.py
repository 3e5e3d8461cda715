"""Devices for a claim by trying every choice in order, one node at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Any


def first_devices(
    devices: Sequence[Mapping[str, Any]], free: Sequence[int], requests: Sequence[tuple[int, bool]], *, same: str
) -> list[tuple[int, int]] | None:
    """The first choice of devices that serves all requests.

    Parameters
    ----------
    devices : sequence of mapping
        The attributes of a node's devices.
    free : sequence of int
        Those that are not in use.
    requests : sequence of (int, bool)
        How many devices each wants, and whether only of model a100.
    same : str
        An attribute that must be the same for all; none where it is empty.

    Returns
    -------
    list of (int, int) or None
        Request and device.
    """
    choices = []
    for count, picky in requests:
        fitting = [k for k in free if not picky or devices[k]["model"] == "a100"]
        choices.append(list(combinations(fitting, count)))
    for chosen in product(*choices):
        taken = [k for some in chosen for k in some]
        if len(set(taken)) < len(taken):
            continue
        if same and len({devices[k][same] for k in taken}) > 1:
            continue
        return [(i, k) for i, some in enumerate(chosen) for k in some]
    return None
