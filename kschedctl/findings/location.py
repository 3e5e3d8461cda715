"""Where in the input an object stands, and where in its text a field does."""

from __future__ import annotations

from typing import NamedTuple


class Location(NamedTuple):
    """The place of one object: there are as many of these as objects, so they are plain tuples.

    Parameters
    ----------
    file : str
        As the user named it; a member of an archive as ``dump.tar.gz:nodes.json``.
    document : int
        The document in the file, from 1.
    item : int or None
        The item in a list of objects, from 1; ``None`` where the document is the object.
    """

    file: str
    document: int = 1
    item: int | None = None

    def __str__(self) -> str:
        item = "" if self.item is None else f", item {self.item}"
        return f"{self.file}, document {self.document}{item}"


class Position(NamedTuple):
    """A character of a text.

    Parameters
    ----------
    line : int
        From 1; lines end with line feeds.
    column : int
        From 1, in characters.
    """

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"
