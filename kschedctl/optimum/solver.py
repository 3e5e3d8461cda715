"""The solver, OR-Tools' CP-SAT, which is an extra: imported when it is asked for, and only here."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from kschedctl.errors import InputError

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


def load_solver() -> ModuleType:
    """The solver's module.

    Raises
    ------
    InputError
        Where it is not installed.
    """
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        raise InputError(
            "the best placement is found by the solver OR-Tools, which is not installed",
            hint="run: pip install 'kschedctl[optimum]'",
        ) from None
    return cp_model


def new_model() -> cp_model.CpModel:
    """An empty model."""
    model: cp_model.CpModel = load_solver().CpModel()
    return model
