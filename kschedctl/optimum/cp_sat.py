"""The solver, OR-Tools' CP-SAT, an optional dependency: it is imported on demand."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

from kschedctl.errors import InputError
from kschedctl.extras import install_command

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import LinearExpr

    Linear: TypeAlias = LinearExpr | int


def load_solver() -> ModuleType:
    """Import the solver.

    Raises
    ------
    InputError
        If the solver is not installed.
    """
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        raise InputError(
            "the best placement needs the solver OR-Tools, which is not installed",
            hint=f"run: {install_command('optimum')}",
        ) from None
    return cp_model
