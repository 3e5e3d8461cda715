"""Regular expressions that are compiled when they are first used: most of those that a command imports are not."""

import re
from typing import TYPE_CHECKING, Any

__all__ = ["pattern"]

if TYPE_CHECKING:
    from re import compile as pattern
else:

    class pattern:  # noqa: N801
        """A regular expression with the attributes of a compiled one, as ``re.compile`` returns it."""

        def __init__(self, text: str | bytes, flags: int = 0) -> None:
            self._text, self._flags = text, flags

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            # From now on the attribute is found without this method.
            found = self.__dict__[name] = getattr(re.compile(self._text, self._flags), name)
            return found
