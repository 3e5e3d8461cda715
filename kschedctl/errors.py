"""The errors that this package raises. A pod that does not fit is an answer, never an exception.

- KschedctlError
    - InputError: something given is wrong; says where and what to do
        - SnapshotError: in a snapshot
        - ManifestError: in the pod or workload to place
        - ConfigError: in a scheduler configuration
        - PlanError: in the plan of a sweep
    - ClusterError: the cluster cannot be reached
    - UnsupportedError: asked for something that is not modelled
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Self

from kschedctl.findings.finding import Finding, Where, subject_of
from kschedctl.findings.location import Position
from kschedctl.findings.shortened import shortened

#: So many findings are shown; the others are counted.
_MOST: Final = 50


class KschedctlError(Exception):
    """Base of all errors of this package; its text is meant for users.

    Parameters
    ----------
    problem : str
        What is wrong.
    hint : str
        What to do; it may have several lines.
    """

    def __init__(self, problem: str, *, hint: str = "") -> None:
        super().__init__(problem)
        self._lines = (problem, *(f"  {line}" for line in hint.splitlines()))

    def lines(self) -> tuple[str, ...]:
        """The text, line by line; what is quoted in a line may hold anything, a newline too."""
        return self._lines

    def __str__(self) -> str:
        return "\n".join(self.lines())


class InputError(KschedctlError):
    """Something given is wrong.

    Parameters
    ----------
    problem : str
        What is wrong, with the value.
    where : Subject, Location or str
        File and document, and the object, such as ``pods.yaml, document 3 (Pod shop/api-0)``.
    path : str
        The field, such as ``spec.containers[0].image``.
    hint : str
        What is expected instead.
    position : Position or None
        Where in the file, for broken text.

    Attributes
    ----------
    findings : tuple of Finding
        All that is wrong, at least one.
    """

    findings: tuple[Finding, ...]

    def __init__(
        self, problem: str, *, where: Where = "", path: str = "", hint: str = "", position: Position | None = None
    ) -> None:
        super().__init__(problem, hint=hint)
        place, about = subject_of(where)
        self.findings = (Finding(problem, path, hint, place, about, position=position),)

    @classmethod
    def together(cls, findings: Iterable[Finding]) -> Self:
        """One error of this class that reports all of these findings (at least one), in their order."""
        every = tuple(findings)
        error = cls(every[0].problem)
        error.findings = every
        return error

    @classmethod
    def raise_any(cls, findings: Iterable[Finding], where: Where = "") -> None:
        """Raise one error of this class with all of these findings, if there are any.

        Parameters
        ----------
        findings : iterable of Finding
            What was found.
        where : Subject, Location or str
            Where those were found that do not tell themselves.

        Raises
        ------
        InputError
            Of this class.
        """
        if every := tuple(finding.at(where) for finding in findings):
            raise cls.together(every)

    def at(self, where: Where) -> Self:
        """The error with where it is, as far as its findings do not tell themselves."""
        return self.together(finding.at(where) for finding in self.findings)

    def lines(self) -> tuple[str, ...]:
        """The text, line by line."""
        return (*(line for finding in self.findings[:_MOST] for line in finding.lines()), *self._others())

    def _others(self) -> tuple[str, ...]:
        """How many findings are not shown, if any."""
        n_others = len(self.findings) - _MOST
        return (f"and {n_others:,} more",) if n_others > 0 else ()


class SnapshotError(InputError):
    """A snapshot cannot be read."""


class ManifestError(InputError):
    """The pod or workload to place cannot be read."""


class ConfigError(InputError):
    """A scheduler configuration is wrong."""

    def lines(self) -> tuple[str, ...]:
        """The text, line by line."""
        if len(self.findings) == 1:
            return super().lines()
        # They are all of one file, which is named once.
        count = f"{len(self.findings)} problems"
        where = str(self.findings[0].where)
        shown = self.findings[:_MOST]
        lines = (": ".join(shortened(part) for part in (each.field, each.problem) if part) for each in shown)
        return f"{where}: {count}" if where else count, *(f"  {line}" for line in (*lines, *self._others()))


class PlanError(InputError):
    """The plan of a sweep is wrong."""


class ClusterError(KschedctlError):
    """The cluster cannot be reached or refuses to answer."""


class UnsupportedError(KschedctlError):
    """Something that is not modelled was asked for."""
