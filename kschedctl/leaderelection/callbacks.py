"""Whom a candidate tells what happens to it (client-go ``LeaderCallbacks``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def _nothing() -> None:
    """Do nothing."""


def _say_nothing(_: str) -> None:
    """Do nothing with a text."""


def _note_nothing(_: float) -> None:
    """Do nothing with a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Callbacks:
    """What is called when something happens.

    Attributes
    ----------
    started_leading : callable
        It leads from now on.
    stopped_leading : callable
        It has ended; also where it never led.
    renewed : callable
        It has taken or kept the lease; is given when it began to, by its clock.
    new_leader : callable
        Is given the identity of a leader that is not the one before; empty where nobody leads.
    failed : callable
        Is given why a try failed.
    """

    started_leading: Callable[[], None] = _nothing
    stopped_leading: Callable[[], None] = _nothing
    renewed: Callable[[float], None] = _note_nothing
    new_leader: Callable[[str], None] = _say_nothing
    failed: Callable[[str], None] = _say_nothing
