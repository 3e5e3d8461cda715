"""Chance, seeded: the same seed draws the same, on every machine."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")

MI = 1 << 20
GI = 1 << 30

_BYTES = (("Ki", 1 << 10), ("Mi", MI), ("Gi", GI), ("Ti", 1 << 40), ("k", 10**3), ("M", 10**6), ("G", 10**9))


class Chance:
    """Draws of one case.

    Parameters
    ----------
    seed : str
        What the draws depend on; a text is hashed the same everywhere.
    """

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)

    def odds(self, probability: float) -> bool:
        """True in that share of draws."""
        return self.random.random() < probability

    def pick(self, *items: T) -> T:
        """One of the items."""
        return self.random.choice(items)

    def weighted(self, *pairs: tuple[float, T]) -> T:
        """One of the items, each with its weight in front."""
        return self.random.choices([item for _, item in pairs], [weight for weight, _ in pairs])[0]

    def some(self, items: Iterable[T], low: int = 0, high: int | None = None) -> list[T]:
        """Between low and high of the items, in any order."""
        pool = list(items)
        most = len(pool) if high is None else min(high, len(pool))
        return self.random.sample(pool, self.random.randint(min(low, most), most))

    def between(self, low: int, high: int) -> int:
        """A number from low to high, both included."""
        return self.random.randint(low, high)

    def share(self, low: float = 0.0, high: float = 1.0) -> float:
        """A number from low to high."""
        return self.random.uniform(low, high)

    def uid(self) -> str:
        """A UUID."""
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def cpu(self, milli: int) -> str:
        """A quantity of that many thousandths of a core, in one of the notations that mean it."""
        forms = [f"{milli}m"] * 3
        if milli % 1000 == 0:
            forms += [str(milli // 1000)] * 4 + ([f"{milli // 1000}e0", f"{milli // 1000}.0"] if milli else [])
        elif milli % 10 == 0:
            forms += [f"{milli / 1000:.2f}"] + ([f"{milli // 100}e-1", f"+{milli / 1000:.1f}"] * (milli % 100 == 0))
        if self.odds(0.03):  # beyond thousandths: rounded up
            forms = [f"{milli * 1000}u", f"{max(0, milli * 1000 - 1)}u", f"{milli * 1000000}n"]
        return self.pick(*forms)

    def memory(self, n_bytes: int) -> str:
        """A quantity of that many bytes, in one of the notations that mean it."""
        forms = [str(n_bytes)]
        for suffix, unit in _BYTES:
            if n_bytes and n_bytes % unit == 0:
                forms += [f"{n_bytes // unit}{suffix}"] * 4
            elif n_bytes and n_bytes * 2 % unit == 0:
                forms.append(f"{n_bytes / unit:.1f}{suffix}")
        if n_bytes and n_bytes % 10**6 == 0:
            forms += [f"{n_bytes // 10**6}e6", f"{n_bytes // 10**6}E6"]
        if self.odds(0.03):
            forms = [f"{n_bytes * 1000}m", f"{max(0, n_bytes * 1000 - 1)}m"]
        return self.pick(*forms)

    def count(self, n: int) -> str:
        """A quantity of n things."""
        forms = [str(n)] * 6 + ([f"{n // 1000}k", f"{n // 1000}e3"] if n and n % 1000 == 0 else [])
        return self.pick(*forms)
