"""The treatment of manifest fields that are unknown or set twice."""

from enum import StrEnum
from typing import Final, Self


class Validation(StrEnum):
    """A mode of field validation, as in kubectl's ``--validate``."""

    STRICT = "strict"
    WARN = "warn"
    IGNORE = "ignore"

    @classmethod
    def of(cls, text: str) -> Self:
        """Parse the value of ``--validate``.

        Raises ValueError if the text is not a valid value; the message is kubectl's.

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


_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})


_FALSE: Final = frozenset({"0", "f", "F", "false", "FALSE", "False"})
