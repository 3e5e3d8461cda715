"""The number of failures that a pod withstands, in words."""

from __future__ import annotations

import pytest

from kschedctl.questions.answers.explain import WithstandingData
from kschedctl.questions.presentation.explain.withstanding import withstanding_section
from tests.questions.presentation.printing import lines

MANY = tuple(f"gke-prod-cluster-default-pool-1a2b3c4d-{i:04}" for i in range(13))


@pytest.mark.parametrize(
    ("feasible", "stands", "last", "exact", "first"),
    [
        (MANY, 12, MANY, True, "Nodes: the pod withstands the loss of any 12 of 13 nodes."),
        (("a",), 0, ("a",), True, "Nodes: the pod fits on 1 node; the loss of a leaves the pod without a node."),
        (
            ("a", "b", "c"),
            1,
            ("a", "b"),
            True,
            "Nodes: the pod withstands the loss of any 1; the loss of a and b leaves the pod without a node.",
        ),
        (
            ("a", "b", "c"),
            1,
            (),
            False,
            "Nodes: the pod fits on 3 nodes; it withstands the loss of any 1; the search for a loss that leaves the "
            "pod without a node was not finished.",
        ),
    ],
    ids=["all nodes alike", "one node", "two of three", "not finished"],
)
def test_first_line(feasible: tuple[str, ...], stands: int, last: tuple[str, ...], exact: bool, first: str) -> None:
    found = WithstandingData(feasible, stands, last, exact, across=(), tried=0, zones=())
    assert lines(withstanding_section(found), 200)[1] == first
