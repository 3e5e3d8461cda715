"""Locations of objects in the input, and positions of fields in a text."""

from __future__ import annotations

from typing import NamedTuple


class Location(NamedTuple):
    """The location of one object in the input: a plain tuple, because there is one per object.

    Attributes
    ----------
    file : str
        The name as given by the user; a member of an archive is ``dump.tar.gz:nodes.json``.
    document : int
        The number of the document in the file, counted from 1.
    item : int or None
        The number of the item in a list of objects, counted from 1; ``None`` if the document is the object.
    """

    file: str
    document: int = 1
    item: int | None = None

    def __str__(self) -> str:
        item = "" if self.item is None else f", item {self.item}"
        return f"{self.file}, document {self.document}{item}"


class Position(NamedTuple):
    """The position of a character in a text.

    Attributes
    ----------
    line : int
        The line, counted from 1; lines end with line feeds.
    column : int
        The column in characters, counted from 1.
    """

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"
