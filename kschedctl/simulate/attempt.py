"""What came of one scheduling cycle of a simulation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from kschedctl.scheduler.decision import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One scheduling cycle.

    Attributes
    ----------
    time : datetime
        When it was, by the virtual clock.
    pod : str
        ``namespace/name``.
    number : int
        Which attempt of the pod it was, from 1.
    decision : Decision
        What was decided, over the cluster as it was.
    node : str
        The node that the pod goes to; empty where it goes nowhere.
    waits : bool
        Whether a Permit plugin lets it wait, so that it is not bound yet.
    message : str
        Why it goes nowhere, in the scheduler's words.
    nominated : str
        The node that is made room on for it.
    victims : tuple of str
        The pods that are evicted for it, ``namespace/name`` in order.
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
