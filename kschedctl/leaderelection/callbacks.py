"""Callbacks of a candidate (client-go ``LeaderCallbacks``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def _nothing() -> None:
    """Ignore an event without data."""


def _say_nothing(_: str) -> None:
    """Ignore a text."""


def _note_nothing(_: float) -> None:
    """Ignore a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Callbacks:
    """The functions that a candidate calls on events. By default they do nothing.

    Attributes
    ----------
    started_leading : callable
        Called when the candidate starts to lead.
    stopped_leading : callable
        Called when the candidate has ended, even if it never led.
    renewed : callable
        Called when the candidate has acquired or renewed the lease, with the time when the attempt began, by the
        candidate's clock.
    new_leader : callable
        Called when the leader has changed, with the identity of the new leader; empty if nobody leads.
    failed : callable
        Called when an attempt has failed, with the reason.
    reached : callable
        Called when an attempt had a result: the record was written, or is held by another candidate.
    same_identity : callable
        Called when another process appears to hold the lease under the candidate's own identity; both then lead.
    """

    started_leading: Callable[[], None] = _nothing
    stopped_leading: Callable[[], None] = _nothing
    renewed: Callable[[float], None] = _note_nothing
    new_leader: Callable[[str], None] = _say_nothing
    failed: Callable[[str], None] = _say_nothing
    reached: Callable[[], None] = _nothing
    same_identity: Callable[[], None] = _nothing
