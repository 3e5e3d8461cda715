"""The errors that this package raises. A pod that does not fit is an answer, never an exception.

- KschedctlError
    - InputError: the input is invalid; the error has the place and a remedy
        - SnapshotError: in a snapshot
        - ManifestError: in the pod or workload to place
        - ConfigError: in a scheduler configuration
        - PlanError: in the plan of a sweep
    - ClusterError: the cluster cannot be reached, or refuses a request
    - UnsupportedError: the request needs something that is not modelled
"""

from collections.abc import Iterable
from typing import Final, Self

from kschedctl.common.findings import Finding, Position, Where, shortened, subject_of

#: At most 50 findings are shown; the others are counted.
_MOST: Final = 50


class KschedctlError(Exception):
    """The base of all errors of this package; the text is meant for users.

    Parameters
    ----------
    problem : str
        The problem.
    hint : str
        The suggested remedy; it may have several lines.
    """

    def __init__(self, problem: str, *, hint: str = "") -> None:
        super().__init__(problem)
        self._lines = (problem, *(f"  {line}" for line in hint.splitlines()))

    def lines(self) -> tuple[str, ...]:
        """Return the text, line by line; a line that quotes input may contain anything, even a newline."""
        return self._lines

    @property
    def summary(self) -> str:
        """The first line of the text: the problem without its remedy, for messages of one line."""
        return self.lines()[0]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    @classmethod
    def like(cls, error: "KschedctlError") -> Self:
        """Return an error of this class with the text of another one."""
        first, *others = error.lines()
        return cls(first, hint="\n".join(line.strip() for line in others))


class InputError(KschedctlError):
    """The error for invalid input.

    Parameters
    ----------
    problem : str
        The problem, with the value.
    where : Subject, Location or str
        The file and document, and the object, such as ``pods.yaml, document 3 (Pod shop/api-0)``.
    path : str
        The field, such as ``spec.containers[0].image``.
    hint : str
        The expected input.
    position : Position or None
        The position in the file, for text that cannot be parsed.

    Attributes
    ----------
    findings : tuple of Finding
        All problems, at least one.
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
        """Return one error of this class with all findings, at least one, in their order."""
        every = tuple(findings)
        error = cls(every[0].problem)
        error.findings = every
        return error

    @classmethod
    def raise_any(cls, findings: Iterable[Finding], where: Where = "") -> None:
        """Raise one error of this class with all findings, if there are any.

        Parameters
        ----------
        findings : iterable of Finding
            The findings.
        where : Subject, Location or str
            The place of findings that have none of their own.

        Raises
        ------
        InputError
            The error, of this class.
        """
        if every := tuple(finding.at(where) for finding in findings):
            raise cls.together(every)

    def at(self, where: Where) -> Self:
        """Return the error with a place, for the findings that have none of their own."""
        return self.together(finding.at(where) for finding in self.findings)

    def lines(self) -> tuple[str, ...]:
        """Return the text, line by line."""
        return (*(line for finding in self.findings[:_MOST] for line in finding.lines()), *self._others())

    def _others(self) -> tuple[str, ...]:
        """Return the line with the number of findings that are not shown, if there are any."""
        n_others = len(self.findings) - _MOST
        return (f"and {n_others:,} more",) if n_others > 0 else ()


class SnapshotError(InputError):
    """The error for a snapshot that cannot be read."""


class ManifestError(InputError):
    """The error for an invalid or missing pod or workload."""


class ConfigError(InputError):
    """The error for an invalid scheduler configuration."""

    def lines(self) -> tuple[str, ...]:
        if len(self.findings) == 1:
            return super().lines()
        # All findings are about one file, which is named once.
        count = f"{len(self.findings)} problems"
        where = str(self.findings[0].where)
        shown = self.findings[:_MOST]
        lines = (": ".join(shortened(part) for part in (each.field, each.problem) if part) for each in shown)
        return f"{where}: {count}" if where else count, *(f"  {line}" for line in (*lines, *self._others()))


class PlanError(InputError):
    """The error for an invalid plan of a sweep."""


class ClusterError(KschedctlError):
    """The error for a cluster that cannot be reached or refuses a request."""


class UnsupportedError(KschedctlError):
    """The error for a request that needs something that is not modelled."""
