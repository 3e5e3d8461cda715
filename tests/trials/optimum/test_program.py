"""Integer programs: the solution is the best of all values, its bound is one, and the solver prints nothing."""

import random
import signal
import subprocess
import sys
import threading
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedctl.trials.optimum.program import Linear, Program, total

_COEFFICIENTS = st.lists(st.integers(-4, 4), min_size=3, max_size=3)


def value(coefficients: list[int], values: tuple[int, ...]) -> int:
    return sum(c * x for c, x in zip(coefficients, values, strict=True))


def expression(coefficients: list[int], variables: list[Linear]) -> Linear:
    return total(c * x for c, x in zip(coefficients, variables, strict=True))


@settings(deadline=None)
@given(
    objective=_COEFFICIENTS,
    rules=st.lists(
        st.tuples(_COEFFICIENTS, st.integers(-6, 9), st.sampled_from(["always", "when", "exactly"])), max_size=3
    ),
    maximize=st.booleans(),
    start=st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 1)),
    presolve=st.booleans(),
)
def test_the_best_of_all_values_is_found(
    objective: list[int],
    rules: list[tuple[list[int], int, str]],
    maximize: bool,
    start: tuple[int, int, int],
    presolve: bool,
) -> None:
    program = Program()
    variables = [program.variable(2), program.variable(2), program.variable()]
    for coefficients, limit, kind in rules:
        left = expression(coefficients, variables)
        program.add(
            left.equals(limit) if kind == "exactly" else left <= limit, variables[2] if kind == "when" else None
        )

    def allowed(values: tuple[int, ...]) -> bool:
        return all(
            value(coefficients, values) == limit
            if kind == "exactly"
            else value(coefficients, values) <= limit or (kind == "when" and not values[2])
            for coefficients, limit, kind in rules
        )

    possible = [value(objective, each) for each in product(range(3), range(3), range(2)) if allowed(each)]
    solution = program.optimize(
        expression(objective, variables),
        maximize=maximize,
        seconds=600,
        start={x.terms[0][0]: n for x, n in zip(variables, start, strict=True)},
        presolve=presolve,
    )
    if not possible:
        assert solution is None
        return
    best = max(possible) if maximize else min(possible)
    assert solution is not None
    assert solution.of(expression(objective, variables)) == best
    assert abs(solution.bound - best) < 1


def test_a_start_that_becomes_better_in_the_smaller_program() -> None:
    """HiGHS 1.16 returns the start, which is worth 2, and says that it is worth 3."""
    program = Program()
    a, b, c, d = program.variable(), program.variable(2), program.variable(), program.variable()
    e, f, g, h = (program.variable() for _ in range(4))
    for rule in (
        a + b <= 2,
        c + d <= 1,
        a + c <= 2,
        3 * a + 4 * c <= 4,
        b + d <= 2,
        3 * b + 4 * d <= 6,
        c <= e,
        e <= a + f,
        d <= g,
        g <= b + h,
        f + h <= 1,
        a + b + c + d <= 3,
    ):
        program.add(rule)
    start = {x.terms[0][0]: n for x, n in zip((a, b, c, d), (1, 1, 0, 0), strict=True)}
    solution = program.optimize(a + b + c + d, maximize=True, seconds=600, start=start)
    assert solution is not None
    assert (solution.of(a + b + c + d), solution.bound) == (3, 3)


def test_amounts_in_bytes_are_exact() -> None:
    program = Program()
    x = program.variable(10)
    program.add(x * (128 * 2**20) <= 3 * 128 * 2**20 - 1)
    solution = program.optimize(x, maximize=True, seconds=600)
    assert solution is not None
    assert solution.of(x) == 2


def test_the_price_of_a_row_is_what_one_more_is_worth() -> None:
    program = Program()
    x = program.variable(100)
    row = program.add(2 * x <= Linear(constant=10))
    limit = program.add(Linear() <= 3)
    first = program.relax(7 * x)
    assert first is not None
    y = program.variable(100)
    program.extend(limit, y.terms[0][0], 1)
    second = program.relax(7 * x + 2 * y, first)
    assert second is not None
    # The rule is divided by 2.
    assert (first.value, second.value, second.duals[row], second.duals[limit]) == (35, 41, 7, 2)


def test_the_solver_prints_nothing() -> None:
    lines = (
        "from kschedctl.trials.optimum.program import Program, total",
        "program = Program()",
        "x = program.variable(3)",
        "program.add(x <= 2)",
        "print(program.optimize(x, maximize=True, seconds=600).of(x), program.relax(x).value)",
    )
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("2 2.0\n", "")


def test_an_interrupt_stops_the_solver() -> None:
    # A market split problem: it has no solution, and the proof takes hours.
    draw = random.Random(1)
    program = Program()
    variables = [program.variable() for _ in range(50)]
    for _ in range(6):
        weights = [draw.randrange(100) for _ in variables]
        program.add(total(w * x for w, x in zip(weights, variables, strict=True)).equals(sum(weights) // 2))
    before = threading.active_count()
    main = threading.get_ident()
    stopped = threading.Event()

    def interrupt() -> None:
        # Python drops an interrupt that comes while a destructor runs; on a busy machine, that can be the first one.
        for delay in (0.5, 20, 20, 20):
            if stopped.wait(delay):
                return
            signal.pthread_kill(main, signal.SIGINT)

    user = threading.Thread(target=interrupt)

    def optimize() -> None:
        user.start()
        program.optimize(variables[0], maximize=True, seconds=600)

    with pytest.raises(KeyboardInterrupt):
        optimize()
    stopped.set()
    user.join()
    assert threading.active_count() == before


@pytest.mark.parametrize("amount", [10**9, 10**12 + 1, 10**15 + 1, 2**62])
def test_large_amounts_are_solved(amount: int) -> None:
    program = Program()
    x, y = program.variable(5), program.variable(5)
    program.add(amount * x + 3 * y <= 2 * amount)
    found = program.optimize(x, maximize=True, seconds=600)
    assert found is not None
    assert found.of(x) == 2
