"""The table of feature gates gets a column per release."""

from conformance.feature_gates import TABLE, UNDECIDED, changed_defaults, with_column

HAD = """\
gate  decides  1.9
Old   yes      on!
Same  -        off
"""


def test_a_column_stands_in_the_order_of_releases_and_names_what_is_new() -> None:
    named = {"New": ["pkg/scheduler/a.go"], "Old": ["pkg/scheduler/b.go"]}
    assert with_column(HAD, "1.10", {"Same": "on", "New": "off", "Other": "off"}, named).splitlines() == [
        "gate   decides  1.9  1.10",
        "New    ?        .    off",
        "Old    yes      on!  .",
        "Other  -        .    off",
        "Same   -        off  on",
    ]


def test_a_column_that_is_there_is_written_anew() -> None:
    assert with_column(HAD, "1.9", {"Old": "on!", "Same": "off"}, {}) == HAD
    assert "Old   yes      ." in with_column(HAD, "1.9", {"Same": "off"}, {})


def test_changed_defaults_are_those_of_gates_that_decide() -> None:
    made = with_column(HAD, "1.10", {"Old": "off", "Same": "on"}, {})
    assert changed_defaults(made, "1.10") == ["Old (on! in 1.9, off in 1.10)"]
    text = "StorageCapacityScoring (off in 1.36, on in 1.37)"
    assert text in changed_defaults(TABLE.read_text(), "1.37")


def test_of_every_gate_somebody_has_said_whether_it_decides_anything() -> None:
    assert UNDECIDED not in {line.split()[1] for line in TABLE.read_text().splitlines()}
