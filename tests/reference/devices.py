"""Device allocation by brute force: every choice in order, one node at a time."""

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Any


def first_devices(
    devices: Sequence[Mapping[str, Any]], free: Sequence[int], requests: Sequence[tuple[int, bool]], *, same: str
) -> list[tuple[int, int]] | None:
    """Return the first choice of devices that satisfies all requests.

    Parameters
    ----------
    devices : sequence of mapping
        The attributes of a node's devices.
    free : sequence of int
        The indices of the devices that are not in use.
    requests : sequence of (int, bool)
        Per request the number of devices, and True if only model a100 matches.
    same : str
        An attribute that must be equal for all devices; empty for none.

    Returns
    -------
    list of (int, int) or None
        Pairs of request and device; None without a solution.
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
