"""Who is told how far long work is. The engine prints nothing: whoever asks hands in what becomes of the progress."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Protocol, TypeVar

T = TypeVar("T")


class Track(Protocol):
    """Hands items on one by one, and may show how many are done."""

    def __call__(self, items: Collection[T], what: str) -> Iterator[T]:
        """The items in their order.

        Parameters
        ----------
        items : collection
            What is worked on.
        what : str
            What is done, such as ``comparing pods``.
        """


def untracked(items: Collection[T], what: str) -> Iterator[T]:
    """The items, and nobody is told."""
    return iter(items)
