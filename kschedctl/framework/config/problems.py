"""Problems of a configuration, collected and reported together, in the words of Kubernetes' ``field.Error``."""

from __future__ import annotations

from typing import Any

from kschedctl.api import field_errors
from kschedctl.errors import ConfigError
from kschedctl.findings.finding import Finding


def child(path: str, name: str) -> str:
    """The path of a field of the object at a path."""
    return f"{path}.{name}" if path else name


class Problems:
    """What is wrong with a configuration so far, in the order of finding; the same twice counts once."""

    def __init__(self) -> None:
        self._found: dict[Finding, None] = {}

    def add(self, path: str, text: str) -> None:
        """Note a problem in words of its own."""
        self.note(Finding(text, path))

    def note(self, finding: Finding) -> None:
        """Note a problem."""
        self._found[finding] = None

    def invalid(self, path: str, value: Any, detail: str) -> None:
        """A value that is not allowed."""
        self.note(field_errors.invalid(path, value, detail))

    def required(self, path: str, detail: str = "") -> None:
        """A value that is missing."""
        self.note(field_errors.required(path, detail))

    def forbidden(self, path: str, detail: str) -> None:
        """A value that may not be given here."""
        self.note(field_errors.forbidden(path, detail))

    def duplicate(self, path: str, value: Any) -> None:
        """A value that another one repeats."""
        self.note(field_errors.duplicate(path, value))

    def unsupported(self, path: str, value: str, supported: tuple[str, ...]) -> None:
        """A value that is none of those that there are."""
        self.note(field_errors.unsupported(path, value, supported))

    @property
    def found(self) -> tuple[Finding, ...]:
        """All of them."""
        return tuple(self._found)

    def raise_if_any(self, where: str) -> None:
        """End with one error that has all problems.

        Parameters
        ----------
        where : str
            The file that the configuration is from.

        Raises
        ------
        ConfigError
            Where a problem was noted.
        """
        ConfigError.raise_any(self._found, where)
