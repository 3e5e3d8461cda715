"""Objects that were met and not read; readers count them without the columns."""

from typing import Final, NamedTuple

#: The value of ``Unread.kind`` for files, whose kinds are unknown.
FILE: Final = "File"


class Unread(NamedTuple):
    """Objects that seem to belong to the cluster and were not read.

    Args:
        what: A description of the objects, and the reason why they were not read.
    """

    kind: str
    what: str

    @property
    def effect(self) -> str:
        """The consequence for an answer."""
        return "the contents are ignored" if self.kind == FILE else "the missing ones are ignored"
