"""Go's ``sort.Slice``: the order in which it leaves equal elements decides which NodeClaim gets the next pod."""

from itertools import pairwise
from typing import Final

_MOST_INSERTED: Final = 12
_SHORTEST_NINTHER: Final = 50
_MOST_EXCHANGES: Final = 12
_MOST_STEPS: Final = 5
_WORD: Final = 2**64 - 1


def go_order(keys: list[int]) -> list[int]:
    """Return the positions of numbers in the order in which Go's ``sort.Slice`` puts them (pdqsort, zsortfunc.go)."""
    sorting = _Sorting(keys)
    if any(one > other for one, other in pairwise(keys)):
        sorting.sort(0, len(keys), len(keys).bit_length())
    return sorting.order


class _Sorting:
    """Numbers that are exchanged in place, and the positions that they had."""

    def __init__(self, keys: list[int]) -> None:
        self.keys = list(keys)
        self.order = list(range(len(keys)))

    def swap(self, i: int, j: int) -> None:
        keys, order = self.keys, self.order
        keys[i], keys[j] = keys[j], keys[i]
        order[i], order[j] = order[j], order[i]

    def sort(self, a: int, b: int, limit: int) -> None:
        balanced = partitioned = True
        while True:
            length = b - a
            if length <= _MOST_INSERTED:
                for i in range(a + 1, b):
                    self._sink(i, a)
                return
            if limit == 0:
                self._heap_sort(a, b)
                return
            if not balanced:
                self._scramble(a, length)
                limit -= 1
            pivot, n_exchanges = self._pivot(a, length)
            if n_exchanges == _MOST_EXCHANGES:
                self.keys[a:b] = self.keys[a:b][::-1]
                self.order[a:b] = self.order[a:b][::-1]
                pivot = b - 1 - (pivot - a)
            if balanced and partitioned and n_exchanges in (0, _MOST_EXCHANGES) and self._nearly_sorted(a, b):
                return
            if a > 0 and self.keys[a - 1] >= self.keys[pivot]:
                a = self._gather_equal(a, b, pivot)
                continue
            middle, partitioned = self._partition(a, b, pivot)
            if middle - a < b - middle:
                balanced = middle - a >= length // 8
                self.sort(a, middle, limit)
                a = middle + 1
            else:
                balanced = b - middle >= length // 8
                self.sort(middle + 1, b, limit)
                b = middle

    def _sink(self, i: int, first: int) -> None:
        """Exchange an element with those before it while it is less."""
        while i > first and self.keys[i] < self.keys[i - 1]:
            self.swap(i, i - 1)
            i -= 1

    def _nearly_sorted(self, a: int, b: int) -> bool:
        """Repair a few elements that are out of order; report whether all are in order."""
        keys, i = self.keys, a + 1
        for _ in range(_MOST_STEPS):
            while i < b and keys[i] >= keys[i - 1]:
                i += 1
            if i == b:
                return True
            if b - a < _SHORTEST_NINTHER:
                return False
            self.swap(i, i - 1)
            if i - a >= 2:
                self._sink(i - 1, 0)
            j = i + 1
            while b - i >= 2 and j < b and keys[j] < keys[j - 1]:
                self.swap(j, j - 1)
                j += 1
        return False

    def _pivot(self, a: int, length: int) -> tuple[int, int]:
        """Return the position of the pivot, and the number of exchanges that its choice took."""
        keys, n = self.keys, 0

        def median(i: int, j: int, k: int) -> int:
            nonlocal n
            for first in (True, False, True):
                one, other = (i, j) if first else (j, k)
                if keys[other] < keys[one]:
                    n += 1
                    one, other = other, one
                if first:
                    i, j = one, other
                else:
                    j, k = one, other
            return j

        i, j, k = (a + length // 4 * quarter for quarter in (1, 2, 3))
        if length >= _SHORTEST_NINTHER:
            i, j, k = (median(each - 1, each, each + 1) for each in (i, j, k))
        return median(i, j, k), n

    def _partition(self, a: int, b: int, pivot: int) -> tuple[int, bool]:
        """Put the elements that are less than the pivot before it; report whether they were there already."""
        self.swap(a, pivot)
        keys, i, j, n = self.keys, a + 1, b - 1, 0
        while True:
            while i <= j and keys[i] < keys[a]:
                i += 1
            while i <= j and keys[j] >= keys[a]:
                j -= 1
            if i > j:
                self.swap(j, a)
                return j, not n
            self.swap(i, j)
            i, j, n = i + 1, j - 1, n + 1

    def _gather_equal(self, a: int, b: int, pivot: int) -> int:
        """Put the elements that equal the pivot first, where none is less; return the position after them."""
        self.swap(a, pivot)
        keys, i, j = self.keys, a + 1, b - 1
        while True:
            while i <= j and keys[a] >= keys[i]:
                i += 1
            while i <= j and keys[a] < keys[j]:
                j -= 1
            if i > j:
                return i
            self.swap(i, j)
            i, j = i + 1, j - 1

    def _scramble(self, a: int, length: int) -> None:
        """Exchange three elements in the middle with others, so that patterns cause no more bad pivots."""
        number, middle = length, a + length // 4 * 2 - 1
        for i in range(3):
            number ^= number << 13 & _WORD
            number ^= number >> 7
            number ^= number << 17 & _WORD
            other = number & ((1 << length.bit_length()) - 1)
            self.swap(middle + i, a + (other - length if other >= length else other))

    def _heap_sort(self, a: int, b: int) -> None:
        def sift(low: int, high: int) -> None:
            root = low
            while (child := 2 * root + 1) < high:
                if child + 1 < high and self.keys[a + child] < self.keys[a + child + 1]:
                    child += 1
                if self.keys[a + root] >= self.keys[a + child]:
                    return
                self.swap(a + root, a + child)
                root = child

        length = b - a
        for i in range((length - 1) // 2, -1, -1):
            sift(i, length)
        for i in range(length - 1, -1, -1):
            self.swap(a, a + i)
            sift(0, i)
