"""What becomes of fields of manifests that an API server does not know, or that are given twice."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Self

_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "false", "FALSE", "False"})


class Validation(StrEnum):
    """As kubectl's ``--validate``."""

    STRICT = "strict"
    WARN = "warn"
    IGNORE = "ignore"

    @classmethod
    def of(cls, text: str) -> Self:
        """Read the value of ``--validate``.

        Raises
        ------
        ValueError
            Where it is none, in kubectl's words.

        Examples
        --------
        >>> Validation.of("warn"), Validation.of("false")
        (<Validation.WARN: 'warn'>, <Validation.IGNORE: 'ignore'>)
        """
        if text in _TRUE | _FALSE:
            return cls(cls.STRICT if text in _TRUE else cls.IGNORE)
        try:
            return cls(text)
        except ValueError:
            problem = f'invalid - validate option "{text}"; must be one of: strict (or true), warn, ignore (or false)'
            raise ValueError(problem) from None
