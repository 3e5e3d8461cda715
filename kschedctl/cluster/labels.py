"""Labels as columns: per key one array of codes over rows, so that a selector is matched for all rows at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kschedctl.api.selectors import IN, Requirement, Selector
from kschedctl.arrays import Int64Array, Mask


class LabelColumn:
    """The values of one label key over all rows.

    Attributes
    ----------
    codes : ndarray of int64, shape (n_rows,)
        Index into ``values``; -1 where a row does not have the label.
    values : tuple of str
        The distinct values, in order of first appearance.
    """

    __slots__ = ("_code_of", "_masks", "codes", "values")

    def __init__(self, codes: Int64Array, values: tuple[str, ...]) -> None:
        self.codes = codes
        self.values = values
        self._masks: dict[Requirement, Mask] = {}
        self._code_of = {value: code for code, value in enumerate(values)}

    @classmethod
    def of(cls, values: Sequence[str | None]) -> LabelColumn:
        """Intern one value per row; ``None`` for rows without the label."""
        interned: dict[str, int] = {}
        codes = np.fromiter(
            (-1 if value is None else interned.setdefault(value, len(interned)) for value in values),
            dtype=np.int64,
            count=len(values),
        )
        return cls(codes, tuple(interned))

    @property
    def present(self) -> Mask:
        """Which rows have the label: bool, shape (n_rows,)."""
        return self.codes >= 0

    def holds(self, requirement: Requirement) -> Mask:
        """For which rows a requirement on this key holds: bool, shape (n_rows,). Not to be written to."""
        mask = self._masks.get(requirement)
        if mask is None:
            # One entry per distinct value, and a last one, which code -1 picks, for rows without the label.
            if requirement.operator == IN:
                by_code = np.zeros(len(self.values) + 1, dtype=np.bool_)
                by_code[[self._code_of[value] for value in requirement.values if value in self._code_of]] = True
            else:
                held = [requirement.holds(value) for value in self.values]
                by_code = np.array([*held, requirement.holds(None)], dtype=np.bool_)
            mask = self._masks[requirement] = by_code[self.codes]
        return mask


class LabelColumns:
    """The labels of many rows, nodes or pod classes, made into columns as keys are asked for.

    Parameters
    ----------
    rows : sequence of mapping of str to str
        The labels of each row.
    """

    def __init__(self, rows: Sequence[Mapping[str, str]]) -> None:
        self._rows = rows
        self._columns: dict[str, LabelColumn] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, key: str) -> LabelColumn:
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = LabelColumn.of([labels.get(key) for labels in self._rows])
        return column

    def matches(self, selector: Selector) -> Mask:
        """For which rows all requirements hold: bool, shape (n_rows,); all rows for an empty selector."""
        mask = np.ones(len(self._rows), dtype=np.bool_)
        for requirement in selector:
            mask &= self[requirement.key].holds(requirement)
        return mask
