"""Problems of a configuration, collected and reported together, in the words of Kubernetes' ``field.Error``."""

from __future__ import annotations

from typing import Any

from kschedctl.api import field_errors
from kschedctl.errors import ConfigError


def child(path: str, name: str) -> str:
    """The path of a field of the object at a path."""
    return f"{path}.{name}" if path else name


class Problems:
    """What is wrong with a configuration so far, in the order of finding."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], None] = {}

    def add(self, path: str, text: str) -> None:
        """Note a problem; the same one again counts once."""
        self._found[path, text] = None

    def invalid(self, path: str, value: Any, detail: str) -> None:
        """A value that is not allowed."""
        self.add(path, field_errors.invalid(value, detail))

    def required(self, path: str, detail: str = "") -> None:
        """A value that is missing."""
        self.add(path, field_errors.required(detail))

    def forbidden(self, path: str, detail: str) -> None:
        """A value that may not be given here."""
        self.add(path, f"Forbidden: {detail}")

    def duplicate(self, path: str, value: Any) -> None:
        """A value that another one repeats."""
        self.add(path, field_errors.duplicate(value))

    def unsupported(self, path: str, value: str, supported: tuple[str, ...]) -> None:
        """A value that is none of those that there are."""
        self.add(path, field_errors.unsupported(value, supported))

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
        match list(self._found):
            case []:
                return
            case [(path, text)]:
                raise ConfigError(text, where=where, path=path)
            case several:
                lines = "".join(f"\n  {path}: {text}" if path else f"\n  {text}" for path, text in several)
                raise ConfigError(f"{len(several)} problems{lines}", where=where)
