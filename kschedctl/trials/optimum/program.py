"""Integer programs: variables and linear rules, which the solver HiGHS gets as arrays.

HiGHS (``highspy``) is an optional dependency: it is imported on demand. It runs on one thread, so that a result that is
found in time is the same in every run.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from kschedctl.common.errors import InputError
from kschedctl.common.extras import install_command

if TYPE_CHECKING:
    from types import ModuleType

#: The type of the values of variables.
N = TypeVar("N", int, float)

#: The largest coefficient of a rule.
_LARGEST: Final = 10**12
#: The absolute gap below which an objective with whole coefficients is optimal.
_LESS_THAN_ONE: Final = 1 - 1e-6
#: The difference of two objectives from which one is better.
_EPSILON: Final = 1e-3
#: The number of variables above which an interior-point method is faster than the dual simplex method, with which an
#: integer program begins otherwise.
_MANY_VARIABLES: Final = 10_000
#: Numbers of HiGHS: the format of rows in arrays, the sense to maximize, the primal simplex method, and the status of a
#: solution.
_BY_ROW, _MAXIMIZE, _PRIMAL, _FEASIBLE = 2, -1, 4, 2
_NO_HEURISTICS: Final = {
    "mip_heuristic_effort": 0.0,
    **dict.fromkeys((f"mip_heuristic_run_{name}" for name in ("rens", "rins", "root_reduced_cost")), False),
}


def load_solver() -> ModuleType:
    """Import the solver.

    Raises InputError if the solver is not installed.
    """
    try:
        import highspy
    except ImportError:
        raise InputError(
            "the best placement needs the solver HiGHS, which is not installed",
            hint=f"run: {install_command('optimum')}",
        ) from None
    _suppress_banner()
    return highspy


@cache
def _suppress_banner() -> None:
    """Make the first solver of the process, which prints a banner before any option can forbid it (highspy 1.16)."""
    import highspy

    solver: Any = highspy
    output, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        solver.Highs()
    finally:
        os.dup2(output, 1)
        os.close(output)
        os.close(nowhere)


@dataclass(frozen=True, slots=True)
class Linear:
    """A linear expression."""

    #: The number of each variable and its coefficient; a variable can occur several times.
    terms: list[tuple[int, int]] = field(default_factory=list)
    constant: int = 0

    def __add__(self, other: Linear | int) -> Linear:
        return total((self, other))

    def __radd__(self, other: int) -> Linear:
        return total((self, other))

    def __neg__(self) -> Linear:
        return self * -1

    def __sub__(self, other: Linear | int) -> Linear:
        return total((self, -other))

    def __rsub__(self, other: int) -> Linear:
        return total((-self, other))

    def __mul__(self, factor: int) -> Linear:
        return Linear([(x, coefficient * factor) for x, coefficient in self.terms], self.constant * factor)

    __rmul__ = __mul__

    def __le__(self, other: Linear | int) -> Rule:
        return Rule(self - other)

    def __ge__(self, other: Linear | int) -> Rule:
        return Rule(other - self)

    def at(self, values: Sequence[N]) -> N:
        """Return the value at the values of all variables."""
        return sum(coefficient * values[x] for x, coefficient in self.terms) + self.constant

    def equals(self, other: Linear | int) -> Rule:
        """Return the rule that both sides are equal."""
        return Rule(self - other, exactly=True)


def total(parts: Iterable[Linear | int]) -> Linear:
    """Return the sum of expressions, in time proportional to their size."""
    terms: list[tuple[int, int]] = []
    constant = 0
    for part in parts:
        if isinstance(part, Linear):
            terms += part.terms
            constant += part.constant
        else:
            constant += part
    return Linear(terms, constant)


@dataclass(frozen=True, slots=True)
class Rule:
    """A constraint: an expression is at most zero, or exactly zero."""

    excess: Linear
    exactly: bool = False


@dataclass(frozen=True, slots=True)
class Solution:
    """A solution of a program."""

    #: The value of each variable.
    values: list[int]
    #: A limit that no value of the objective exceeds; infinite if unknown.
    bound: float

    def of(self, expression: Linear) -> int:
        return expression.at(self.values)


@dataclass(frozen=True, slots=True)
class Relaxed:
    """A solution of a program over fractions."""

    #: The value of the objective.
    value: float
    #: The value of each variable.
    values: list[float]
    #: The price of each row.
    duals: list[float]
    #: The reduced cost of each variable.
    reduced_costs: list[float]
    #: The basis in the form of the solver.
    basis: Any

    def of(self, expression: Linear) -> float:
        return expression.at(self.values)


@dataclass(slots=True)
class Patience:
    """The end of searches in which no better solution has come for a while, though one may exist.

    A search ends once it has run, since its best solution, for as long as until that solution, and at least `seconds`.
    Time is the CPU time of the solver, so that the result is the same on a busy machine.
    """

    seconds: float
    #: True if a search has ended this way.
    ran_out: bool = False

    def watch(self, highs: Any) -> None:
        """End the search of a solver that has a solution, and no better one for a while."""
        best, since = math.inf, 0.0

        def look(event: Any) -> None:
            nonlocal best, since
            now, value = time.thread_time(), event.data_out.mip_primal_bound
            # The first values are infinite; objectives are whole numbers.
            if not math.isfinite(value) or abs(value - best) > _EPSILON:
                best, since = value, now
            elif now - since > max(since, self.seconds):
                self.ran_out = True
                event.interrupt()

        highs.cbMipInterrupt.subscribe(look)


class Program:
    """An integer program over variables from zero to a limit."""

    def __init__(self) -> None:
        # One variable at least: HiGHS reports no solution of an empty program.
        self.most: list[int] = [0]
        self._rows: list[int] = []
        self._columns: list[int] = []
        self._coefficients: list[int] = []
        self._lower: list[float] = []
        self._upper: list[float] = []

    def variable(self, most: int = 1) -> Linear:
        """Add an integer variable from zero to a limit."""
        self.most.append(most)
        return Linear([(len(self.most) - 1, 1)])

    def add(self, rule: Rule, when: Linear | None = None) -> int:
        """Add a rule and return its row.

        Args:
            when: An expression of value 0 or 1: the rule holds only if it is 1.
        """
        sums: dict[int, int] = {}
        for x, coefficient in rule.excess.terms:
            sums[x] = sums.get(x, 0) + coefficient
        # A common divisor rounds the limit, and keeps amounts in bytes from being coefficients of ten digits.
        divisor = math.gcd(*sums.values()) or 1
        terms = [(x, coefficient // divisor) for x, coefficient in sums.items() if coefficient]
        limit = -rule.excess.constant // divisor
        largest = max((abs(coefficient) for _, coefficient in terms), default=0)
        if largest > _LARGEST and not rule.exactly:
            # HiGHS accepts no greater coefficients. Rounded this way, the rule allows a little more.
            shrink = -(-largest // _LARGEST)
            terms = [(x, coefficient // shrink) for x, coefficient in terms]
            limit = -(-limit // shrink)
        if when is not None:
            assert not rule.exactly
            beyond = max(sum(coefficient * self.most[x] for x, coefficient in terms if coefficient > 0) - limit, 0)
            return self.add(Linear(terms) <= limit + beyond * (1 - when))
        self._lower.append(-rule.excess.constant / divisor if rule.exactly else -math.inf)
        self._upper.append(limit)
        for x, coefficient in terms:
            self.extend(len(self._upper) - 1, x, coefficient)
        return len(self._upper) - 1

    def extend(self, row: int, x: int, coefficient: int) -> None:
        """Add a variable, by its number, to a row that does not have it."""
        self._rows.append(row)
        self._columns.append(x)
        self._coefficients.append(coefficient)

    def optimize(
        self,
        objective: Linear,
        *,
        maximize: bool,
        seconds: float,
        start: Mapping[int, int] | None = None,
        gap: float = 0.0,
        presolve: bool = True,
        heuristics: bool = True,
        patience: Patience | None = None,
    ) -> Solution | None:
        """Optimize an expression.

        Args:
            gap: The distance between value and bound, as a share of the bound, that ends the search.
            presolve: False to search at once, without making the program smaller first.
            heuristics: False to search without heuristics that solve parts of the program, which small programs do
                not need.
            patience: The end of a search that finds no better solution; by default, there is none.

        Returns: ``None`` if no solution is found in time.
        """
        deadline = time.monotonic() + seconds
        options = {
            # HiGHS measures the gap as a share of the value, which can be smaller than the bound.
            "mip_rel_gap": gap / (1 + gap),
            "mip_abs_gap": _LESS_THAN_ONE,
            **({"mip_lp_solver": "ipm"} if len(self.most) > _MANY_VARIABLES else {}),
            **({} if heuristics else _NO_HEURISTICS),
        }
        best: Solution | None = None
        # Solutions of the program made smaller can be worth more than what they become (HiGHS issue 2439): then HiGHS
        # returns a solution that is worth less than it says. Without a start and without presolve, it cannot.
        for known, smaller in ((start or {}, presolve), ({}, presolve), ({}, False)):
            limits = {"time_limit": max(deadline - time.monotonic(), 0), "presolve": "on" if smaller else "off"}
            highs = self._solver(objective, maximize=maximize, integer=True, options={**options, **limits})
            if known:
                highs.setSolution(len(known), np.array([*known], np.int32), np.array([*known.values()], np.float64))
            if patience is not None:
                patience.watch(highs)
            _run(highs)
            info = highs.getInfo()
            if info.primal_solution_status != _FEASIBLE:
                break
            exact: list[float] = highs.getSolution().col_value
            found = Solution([round(value) for value in exact], info.mip_dual_bound)
            better, worse = (found, best) if maximize else (best, found)
            if better is None or worse is None or better.of(objective) >= worse.of(objective):
                best = found
            if math.isclose(objective.at(exact), info.objective_function_value, abs_tol=_LESS_THAN_ONE):
                break
        return best

    def relax(
        self, objective: Linear, before: Relaxed | None = None, *, maximize: bool = True, seconds: float = math.inf
    ) -> Relaxed | None:
        """Optimize an expression over fractions.

        Args:
            before: A result before variables and rules were added, to start from.

        Returns: ``None`` if there is no solution, or none is found in time.
        """
        # Not the dual simplex method, which is the default: no pods at all, or the result of the goal before, is a
        # solution to start from, and better ones are near.
        options = {"time_limit": seconds, "solver": "simplex", "simplex_strategy": _PRIMAL}
        highs = self._solver(objective, maximize=maximize, integer=False, options=options)
        if before is not None:
            basis, status = before.basis, load_solver().HighsBasisStatus
            basis.col_status = [*basis.col_status, *[status.kLower] * (len(self.most) - len(basis.col_status))]
            basis.row_status = [*basis.row_status, *[status.kBasic] * (len(self._upper) - len(basis.row_status))]
            highs.setBasis(basis)
        _run(highs)
        info = highs.getInfo()
        if info.primal_solution_status != _FEASIBLE or info.dual_solution_status != _FEASIBLE:
            return None
        found = highs.getSolution()
        value = info.objective_function_value
        return Relaxed(value, found.col_value, found.row_dual, found.col_dual, highs.getBasis())

    def _solver(self, objective: Linear, *, maximize: bool, integer: bool, options: Mapping[str, object]) -> Any:
        highs = load_solver().Highs()
        for name, option in {"output_flag": False, "threads": 1, **options}.items():
            highs.setOptionValue(name, option)
        n, n_rows = len(self.most), len(self._upper)
        costs = np.zeros(n)
        for x, coefficient in objective.terms:
            costs[x] += coefficient
        rows = np.array(self._rows, dtype=np.int64)
        order = np.argsort(rows, kind="stable")
        highs.passModel(
            n,
            n_rows,
            len(rows),
            _BY_ROW,
            _MAXIMIZE if maximize else -_MAXIMIZE,
            float(objective.constant),
            costs,
            np.zeros(n),
            np.array(self.most, dtype=np.float64),
            np.array(self._lower, dtype=np.float64),
            np.array(self._upper, dtype=np.float64),
            np.searchsorted(rows[order], np.arange(n_rows + 1)).astype(np.int32),
            np.array(self._columns, dtype=np.int32)[order],
            np.array(self._coefficients, dtype=np.float64)[order],
            np.full(n, integer, dtype=np.int32),
        )
        return highs


def _run(highs: Any) -> None:
    """Run a solver in a thread, which an interrupt of the user stops."""
    highs.HandleUserInterrupt = True
    done = Event()

    def work() -> None:
        try:
            highs.run()
        finally:
            done.set()

    thread = Thread(target=work)
    thread.start()
    try:
        # Not `join`: in Python 3.11, the thread counts as ended once an interrupt ends `join`.
        done.wait()
    except BaseException:
        highs.cancelSolve()
        done.wait()
        raise
    finally:
        thread.join()
