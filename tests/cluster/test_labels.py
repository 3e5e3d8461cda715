from typing import Any

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.cluster.labels import LabelColumns
from kschedctl.objects.meta import LabelSelector
from kschedctl.objects.selectors import Requirement, label_map_selector, matches, parse_label_selector
from tests.strategies import label_selectors, pod_labels

ROWS = [{"app": "web", "tier": "1"}, {}, {"app": "db"}, {"app": "web"}]


def test_values_are_interned_in_order_of_appearance() -> None:
    column = LabelColumns(ROWS)["app"]
    assert column.values == ["web", "db"]
    assert column.codes.tolist() == [0, -1, 1, 0]
    assert column.present.tolist() == [True, False, True, True]


def test_a_label_that_no_row_has() -> None:
    column = LabelColumns(ROWS)["none"]
    assert column.values == []
    assert not column.present.any()
    assert column.holds(Requirement("none", "DoesNotExist")).all()


def test_all_requirements_of_a_selector_must_hold() -> None:
    found = LabelColumns(ROWS).matches(label_map_selector({"app": "web", "tier": "1"}))
    assert found.tolist() == [True, False, False, False]


def test_an_empty_selector_matches_every_row_and_no_rows_match_nothing() -> None:
    assert LabelColumns(ROWS).matches(()).tolist() == [True] * 4
    assert LabelColumns([]).matches(label_map_selector({"app": "web"})).shape == (0,)


def test_what_is_matched_does_not_change_what_is_kept() -> None:
    columns = LabelColumns(ROWS)
    selector = label_map_selector({"app": "web"})
    columns.matches(selector)[:] = False
    assert columns.matches(selector).tolist() == [True, False, False, True]


@given(st.lists(pod_labels, max_size=6), label_selectors)
def test_equals_matching_row_by_row(rows: list[dict[str, str]], written: dict[str, Any]) -> None:
    selector = parse_label_selector(msgspec.convert(written, LabelSelector))
    expected = [matches(selector, labels) for labels in rows]
    np.testing.assert_array_equal(LabelColumns(rows).matches(selector), np.array(expected, dtype=np.bool_))
