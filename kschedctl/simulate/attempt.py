"""The outcome of one scheduling cycle in a simulation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from kschedctl.scheduler.decision import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A scheduling cycle and its outcome.

    Attributes
    ----------
    time : datetime
        The time of the cycle, by the virtual clock.
    pod : str
        The pod's ``namespace/name``.
    number : int
        The number of the attempt for this pod, from 1.
    decision : Decision
        The scheduler's decision, over the cluster at that time.
    node : str
        The node that the pod is bound to; empty if there is none.
    waits : bool
        True if a Permit plugin lets the pod wait, so that it is not bound yet.
    message : str
        The reason why the pod is not scheduled, in the scheduler's words; empty if it is.
    nominated : str
        The node on which capacity is freed for the pod; empty if there is none.
    victims : tuple of str
        The pods that are evicted for this pod, ``namespace/name`` in order.
    """

    time: datetime
    pod: str
    number: int
    decision: Decision
    node: str = ""
    waits: bool = False
    message: str = ""
    nominated: str = ""
    victims: tuple[str, ...] = ()
