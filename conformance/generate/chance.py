"""Seeded random draws: the same seed gives the same values on every machine."""

import random
import uuid
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")

MI = 1 << 20
GI = 1 << 30

_BYTES = (("Ki", 1 << 10), ("Mi", MI), ("Gi", GI), ("Ti", 1 << 40), ("k", 10**3), ("M", 10**6), ("G", 10**9))


class Chance:
    """The random draws of one case.

    Parameters
    ----------
    seed : str
        The seed; a string is hashed in the same way on every machine.
    """

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)

    def odds(self, probability: float) -> bool:
        """Return True with the given probability."""
        return self.random.random() < probability

    def pick(self, *items: T) -> T:
        """Return one of the items."""
        return self.random.choice(items)

    def weighted(self, *pairs: tuple[float, T]) -> T:
        """Return one of the items; each pair is a weight and an item."""
        return self.random.choices([item for _, item in pairs], [weight for weight, _ in pairs])[0]

    def some(self, items: Iterable[T], low: int = 0, high: int | None = None) -> list[T]:
        """Return between ``low`` and ``high`` of the items in random order; without ``high`` up to all of them."""
        pool = list(items)
        most = len(pool) if high is None else min(high, len(pool))
        return self.random.sample(pool, self.random.randint(min(low, most), most))

    def between(self, low: int, high: int) -> int:
        """Return an integer from ``low`` to ``high``, both included."""
        return self.random.randint(low, high)

    def share(self, low: float = 0.0, high: float = 1.0) -> float:
        """Return a float from ``low`` to ``high``."""
        return self.random.uniform(low, high)

    def uid(self) -> str:
        """Return a UUID."""
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def cpu(self, milli: int) -> str:
        """Return a quantity of CPU in one of its equivalent notations; ``milli`` is in milli-CPU."""
        forms = [f"{milli}m"] * 3
        if milli % 1000 == 0:
            forms += [str(milli // 1000)] * 4 + ([f"{milli // 1000}e0", f"{milli // 1000}.0"] if milli else [])
        elif milli % 10 == 0:
            forms += [f"{milli / 1000:.2f}"] + ([f"{milli // 100}e-1", f"+{milli / 1000:.1f}"] * (milli % 100 == 0))
        if self.odds(0.03):  # finer than milli-CPU: the scheduler rounds up
            forms = [f"{milli * 1000}u", f"{max(0, milli * 1000 - 1)}u", f"{milli * 1000000}n"]
        return self.pick(*forms)

    def memory(self, n_bytes: int) -> str:
        """Return a quantity of bytes in one of its equivalent notations."""
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
        """Return a quantity of ``n`` units."""
        forms = [str(n)] * 6 + ([f"{n // 1000}k", f"{n // 1000}e3"] if n and n % 1000 == 0 else [])
        return self.pick(*forms)
