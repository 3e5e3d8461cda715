"""The rows that every benchmark measures, and their output: for people, or as JSON for benchmarks.results."""

import argparse
import cProfile
import json
import multiprocessing
import pstats
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

#: The units in which more is better.
RATES: Final = ("MB/s", "pods/s", "cases/s", "answers/s")


class Row(NamedTuple):
    """A measured figure.

    Attributes
    ----------
    what : str
        The name of the measurement, unique within all benchmarks.
    value : float
        The figure, in ``unit``.
    note : str
        Other figures of the same measurement; empty for none.
    """

    what: str
    value: float
    unit: str
    note: str = ""

    @property
    def figure(self) -> str:
        """The figure with its unit, to three digits: ``1.25 ms``, ``1.25 s``."""
        in_seconds = self.unit == "ms" and self.value >= 1_000
        value, unit = (self.value / 1e3, "s") if in_seconds else (self.value, self.unit)
        digits = 0 if value >= 100 else 1 if value >= 10 else 2
        return f"{value:,.{digits}f} {unit}".strip()


def report(parser: argparse.ArgumentParser, measure: Callable[[argparse.Namespace], Iterator[Row]]) -> None:
    """Measure as the options of the command line say, and print each row as soon as it is known."""
    parser.add_argument("--json", action="store_true", help="one row per line as JSON")
    args = parser.parse_args()
    for row in measure(args):
        text = json.dumps(row) if args.json else f"{row.what:60} {row.figure:>14}  {row.note}".rstrip()
        print(text, flush=True)


@contextmanager
def profiled(n_functions: int) -> Iterator[None]:
    """Print the ``n_functions`` functions that take the most CPU time within the block; with 0, profile nothing."""
    if not n_functions:
        yield
        return
    with cProfile.Profile(time.thread_time) as profile:
        yield
    pstats.Stats(profile).sort_stats("tottime").print_stats(n_functions)


def timed(called: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> tuple[T, float]:
    """Call a function, and return its result and the CPU time of this process that it took, in milliseconds."""
    begin = time.process_time()
    result = called(*args, **kwargs)
    return result, (time.process_time() - begin) * 1e3


def in_a_process(called: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function in a process of its own, so that neither its memory nor its CPU time counts as this one's."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(called, args, kwargs)


def peak_megabytes() -> float:
    """Return the largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
