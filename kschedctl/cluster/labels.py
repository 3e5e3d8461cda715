"""Labels as columns: one code array over rows per label key, so that a selector is matched for all rows at once."""

from collections.abc import Mapping, Sequence

import numpy as np

from kschedctl.common.arrays import Int64Array, Mask, Rows
from kschedctl.objects.selectors import IN, Requirement, Selector


class LabelColumn:
    """The values of one label key over all rows.

    codes: Index into ``values``; -1 where a row does not have the label. Do not modify.
    values: The distinct values, in order of first appearance. Do not modify.
    """

    __slots__ = ("_code_of", "_masks", "codes", "values")

    def __init__(self, codes: Int64Array, values: Sequence[str]) -> None:
        self.codes = codes
        self.values = list(values)
        self._masks: dict[Requirement, Mask] = {}
        self._code_of = {value: code for code, value in enumerate(values)}

    @classmethod
    def of(cls, values: Sequence[str | None]) -> "LabelColumn":
        """Create a column from one value per row; ``None`` for rows without the label."""
        column = cls(np.zeros(0, dtype=np.int64), ())
        column.grow(values)
        return column

    def code(self, value: str) -> int | None:
        """Return the code of a value; ``None`` if no row has the value."""
        return self._code_of.get(value)

    def grow(self, values: Sequence[str | None]) -> None:
        """Append rows."""
        code_of = self._code_of
        codes = np.fromiter(
            (-1 if value is None else code_of.setdefault(value, len(code_of)) for value in values),
            dtype=np.int64,
            count=len(values),
        )
        self.values += list(code_of)[len(self.values) :]
        self.codes = np.concatenate((self.codes, codes))

    def extended(self, values: Sequence[str | None]) -> "LabelColumn":
        """Return the column with further rows."""
        new = LabelColumn(self.codes, self.values)
        new._masks = self._masks.copy()
        new.grow(values)
        return new

    @property
    def present(self) -> Mask:
        """The mask of rows with the label: bool, shape (n_rows,)."""
        return self.codes >= 0

    @property
    def among_others(self) -> Int64Array:
        """The codes of values that several rows share: int64, shape (n_rows,); -2 if unique, -1 without the label."""
        alone = np.bincount(self.codes + 1, minlength=len(self.values) + 1)[self.codes + 1] == 1
        return np.where(alone & self.present, -2, self.codes)

    def holds(self, requirement: Requirement) -> Mask:
        """Return the rows that satisfy a requirement on this key: bool, shape (n_rows,). Do not modify."""
        mask = self._masks.get(requirement)
        if mask is None:
            mask = self._masks[requirement] = self._held(requirement, self.codes)
        elif len(mask) < len(self.codes):
            more = self._held(requirement, self.codes[len(mask) :])
            mask = self._masks[requirement] = np.concatenate((mask, more))
        return mask

    def _held(self, requirement: Requirement, codes: Int64Array) -> Mask:
        if len(codes) < len(self.values):
            held_by = {
                code: requirement.holds(self.values[code] if code >= 0 else None) for code in set(codes.tolist())
            }
            return np.array([held_by[code] for code in codes.tolist()], dtype=np.bool_)
        # One entry per distinct value, plus a last entry, selected by code -1, for rows without the label.
        if requirement.operator == IN:
            by_code = np.zeros(len(self.values) + 1, dtype=np.bool_)
            by_code[[self._code_of[value] for value in requirement.values if value in self._code_of]] = True
        else:
            held = [requirement.holds(value) for value in self.values]
            by_code = np.array([*held, requirement.holds(None)], dtype=np.bool_)
        return by_code[codes]


class LabelColumns:
    """The labels of many rows (nodes or pod classes); a column is created when its key is first requested.

    Args:
        rows: The labels of each row.
    """

    def __init__(self, rows: Sequence[Mapping[str, str]]) -> None:
        self._rows = list(rows)
        self._columns: dict[str, LabelColumn] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, key: str) -> LabelColumn:
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = LabelColumn.of([labels.get(key) for labels in self._rows])
        return column

    def grow(self, rows: Sequence[Mapping[str, str]]) -> None:
        """Append rows."""
        self._rows += rows
        for key, column in self._columns.items():
            column.grow([labels.get(key) for labels in rows])

    def patched(self, rows: Rows, labels: Sequence[Mapping[str, str]]) -> "LabelColumns":
        """Return the columns with other labels in some rows, or with further rows; unchanged columns are shared."""
        n_rows = len(self._rows)
        own = dict(zip(rows.tolist(), labels, strict=True))
        changed = {row: each for row, each in own.items() if row < n_rows}
        more = [each for row, each in own.items() if row >= n_rows]
        new = LabelColumns(self._rows)
        for row, each in changed.items():
            new._rows[row] = each
        new._rows += more
        for key, column in self._columns.items():
            # Codes follow the order of first appearance, so a changed column is rebuilt on first use.
            if all(self._rows[row].get(key) == each.get(key) for row, each in changed.items()):
                new._columns[key] = column.extended([each.get(key) for each in more]) if more else column
        return new

    def matches(self, selector: Selector) -> Mask:
        """Return the rows that satisfy all requirements: bool, shape (n_rows,); all rows for an empty selector."""
        mask = np.ones(len(self._rows), dtype=np.bool_)
        for requirement in selector:
            mask &= self[requirement.key].holds(requirement)
        return mask
