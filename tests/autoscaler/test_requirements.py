"""Requirements on labels of nodes to come: what they admit, how they combine, and Karpenter's words for them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.autoscaler.instance_types import WELL_KNOWN
from kschedctl.autoscaler.requirements import (
    Requirement,
    added,
    are_compatible,
    conflict,
    incompatibility,
    intersection,
    intersects,
    requirement,
    requirements_text,
)

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte")
VALUES = ("1", "2", "3", "4", "5", "a", "b")


def made(operator: str, values: list[str]) -> Requirement:
    numbers = [value for value in values if value.isdigit()] or ["3"]
    return requirement("size", operator, numbers[:1] if operator[0] in "GL" else values)


requirements = st.builds(made, st.sampled_from(OPERATORS), st.lists(st.sampled_from(VALUES), max_size=4))


@given(requirements, requirements, st.sampled_from(VALUES))
def test_an_intersection_admits_what_both_admit(one: Requirement, other: Requirement, value: str) -> None:
    both = intersection(one, other)
    assert both.has(value) == (one.has(value) and other.has(value))
    assert both.has(value) <= intersects(one, other)
    assert intersects(one, other) == intersects(other, one)


@pytest.mark.parametrize(
    ("operator", "values", "text"),
    [
        ("In", ["b", "a"], "zone In [a b]"),
        ("In", list("gfedcba"), "zone In [a b c d e and 2 others]"),
        ("In", [], "zone DoesNotExist"),
        ("NotIn", ["a"], "zone NotIn [a]"),
        ("NotIn", [], "zone Exists"),
        ("Gt", ["3"], "zone Exists >=4"),
        ("Lt", ["3"], "zone Exists <=2"),
        ("Gte", ["3"], "zone Exists >=3"),
        ("Lte", ["3"], "zone Exists <=3"),
    ],
)
def test_words(operator: str, values: list[str], text: str) -> None:
    assert str(requirement("zone", operator, values)) == text


def test_values_that_are_needed_are_part_of_the_words_and_of_intersections() -> None:
    two, three = (requirement("family", "Exists", min_values=n) for n in (2, 3))
    assert str(intersection(two, three)) == "family Exists minValues 3"


@pytest.mark.parametrize(
    ("known", "wanted", "undefined", "problem"),
    [
        ([("zone", "In", ["a"])], [("zone", "In", ["a", "b"])], (), ""),
        ([("zone", "In", ["a"])], [("zone", "In", ["b"])], (), "key zone, zone In [b] not in zone In [a]"),
        ([], [("team", "In", ["x"])], (), 'label "team" does not have known values'),
        (
            [("example.com/team", "Exists", [])],
            [("team", "In", ["x"])],
            (),
            'label "team" does not have known values (typo of "example.com/team"?)',
        ),
        ([], [("team", "In", ["x"])], ("team",), ""),
        ([], [("team", "NotIn", ["x"])], (), ""),
        ([("team", "DoesNotExist", [])], [("team", "NotIn", ["x"])], (), ""),
        (
            [("team", "DoesNotExist", [])],
            [("team", "Exists", [])],
            (),
            "key team, team Exists not in team DoesNotExist",
        ),
    ],
)
def test_compatibility(
    known: list[tuple[str, str, list[str]]],
    wanted: list[tuple[str, str, list[str]]],
    undefined: tuple[str, ...],
    problem: str,
) -> None:
    one, other = (added({}, (requirement(*each) for each in some)) for some in (known, wanted))
    assert incompatibility(one, other, undefined) == problem
    assert are_compatible(one, other, undefined) == (not problem)
    # A label that nothing is known of is no conflict for good.
    assert conflict(one, other) == problem.startswith("key ")


def test_former_names_of_labels_are_the_stable_ones() -> None:
    both = added(
        {}, (requirement("beta.kubernetes.io/arch", "In", ["arm64"]), requirement("kubernetes.io/arch", "Exists"))
    )
    assert requirements_text(both) == "kubernetes.io/arch In [arm64]"


@pytest.mark.parametrize(
    ("key", "may"),
    [
        ("karpenter.k8s.aws/instance-cpu", True),
        ("karpenter.azure.com/sku-family", True),
        ("eks.amazonaws.com/instance-category", True),
        ("eks.amazonaws.com/nodegroup", False),
        ("example.com/team", False),
    ],
)
def test_labels_that_providers_know_need_no_requirement(key: str, may: bool) -> None:
    assert are_compatible({}, added({}, (requirement(key, "In", ["x"]),)), WELL_KNOWN) is may
