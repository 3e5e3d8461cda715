"""The result of a rule: the cause of a problem, the evidence for it, and cures."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from kschedctl.scheduler.framework.remedy import Remedy, Risk


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """A cure that takes effect outside the scheduler, so that it cannot be tried on a snapshot.

    Attributes
    ----------
    summary : str
        A short instruction, in the imperative.
    risk : Risk
        The risk of the cure, by which it is ranked among remedies.
    untried : str
        The reason why the cure was not tried, such as ``a provisioner creates the volume``.
    command : str
        The kubectl command, or a line that begins with ``#`` for anything else; empty for none.
    """

    summary: str
    risk: Risk
    untried: str
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The cause of a problem, and what to do about it.

    Attributes
    ----------
    rule : str
        The name of the rule that found the cause, such as ``missing-storage-class``.
    cause : str
        The cause in one clause, with names and numbers: no capital letter unless a name requires it, no full stop.
    evidence : tuple of str
        Facts that show the cause, one clause each.
    remedies : tuple of Remedy
        Cures as changes; each is tried before it is shown.
    advice : tuple of Advice
        Cures that cannot be tried.
    checks : tuple of str
        Commands that show what the snapshot does not contain.
    """

    rule: str
    cause: str
    evidence: tuple[str, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    advice: tuple[Advice, ...] = ()
    checks: tuple[str, ...] = ()
