"""A collector of configuration problems, in the words of Kubernetes' ``field.Error``, which are reported together."""

from __future__ import annotations

from typing import Any

from kschedctl.common.errors import ConfigError
from kschedctl.common.findings import Finding
from kschedctl.objects import field_errors


def child(path: str, name: str) -> str:
    """Return the path of a field of the object at ``path``."""
    return f"{path}.{name}" if path else name


class Problems:
    """The problems of a configuration found so far, in order and without duplicates."""

    def __init__(self) -> None:
        self._found: dict[Finding, None] = {}

    def add(self, path: str, text: str) -> None:
        """Record a problem with its own text."""
        self.note(Finding(text, path))

    def note(self, finding: Finding) -> None:
        """Record a finding."""
        self._found[finding] = None

    def invalid(self, path: str, value: Any, detail: str) -> None:
        """Record an invalid value."""
        self.note(field_errors.invalid(path, value, detail))

    def required(self, path: str, detail: str = "") -> None:
        """Record a missing value."""
        self.note(field_errors.required(path, detail))

    def forbidden(self, path: str, detail: str) -> None:
        """Record a value that is not allowed here."""
        self.note(field_errors.forbidden(path, detail))

    def duplicate(self, path: str, value: Any) -> None:
        """Record a duplicate value."""
        self.note(field_errors.duplicate(path, value))

    def unsupported(self, path: str, value: str, supported: tuple[str, ...]) -> None:
        """Record a value that is not one of the supported values."""
        self.note(field_errors.unsupported(path, value, supported))

    @property
    def found(self) -> tuple[Finding, ...]:
        """All findings so far."""
        return tuple(self._found)

    def raise_if_any(self, where: str) -> None:
        """Raise one error with all problems, if there are any.

        Parameters
        ----------
        where : str
            The file that the configuration is from.

        Raises
        ------
        ConfigError
            If a problem was recorded.
        """
        ConfigError.raise_any(self._found, where)
