"""Arguments of a wrong type: each error is one sentence about the argument, whatever the method."""

from pathlib import Path
from typing import Any

import pytest

import kschedctl
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from tests.builders import make_cluster, make_loaded, make_node, make_pod

CLUSTER = make_loaded(make_cluster([make_node("a")], [make_pod("p", node="a")]))
A_POD = "Pod, mapping, str or Path is expected"


@pytest.mark.parametrize(
    ("method", "arguments", "options", "problem"),
    [
        ("explain", [5], {}, f"pod has the type int: {A_POD}"),
        ("explain", [None], {}, f"pod has the type NoneType: {A_POD}"),
        ("explain", ["default/p"], {"suggest": "3"}, "suggest has the type str: int is expected"),
        ("explain", ["default/p"], {"handle": 1}, "handle has the type int: AnalysisHandle is expected"),
        ("capacity", [b"default/p"], {}, f"pod has the type bytes: {A_POD}"),
        ("capacity", ["default/p", True], {}, "most has the type bool: int is expected"),
        (
            "simulate",
            [5],
            {},
            "pods has the type int: Pod, mapping, str, Path or iterable of Pod, mapping, str or Path",
        ),
        ("simulate", [[5]], {}, "pods has the type list: Pod, mapping, str, Path or iterable of Pod"),
        ("drain", [3], {}, "nodes has the type int: str or iterable of str is expected"),
        ("drain", [["a", 3]], {}, "nodes has the type list: str or iterable of str is expected"),
        ("diff", ["prod/"], {}, "other has the type str: LoadedCluster is expected"),
        ("rollout", ["deploy/web"], {}, "workload has the type str: ApiObject is expected"),
        ("optimum", [], {"seconds": "60"}, "seconds has the type str: float is expected"),
        ("what_if", ["cordon a"], {}, "edits has the type str: Edit is expected"),
        ("what_if", [], {"cordon": 5}, "cordon has the type int: str or iterable of str is expected"),
        ("claim", [Path("x")], {}, "name has the type PosixPath: str is expected"),
        ("decide", [5], {}, "a pod is expected, not int"),
    ],
    ids=lambda value: value if isinstance(value, str) else str(value),
)
def test_a_wrong_type_is_said(method: str, arguments: list[Any], options: dict[str, Any], problem: str) -> None:
    with pytest.raises(kschedctl.InputError) as raised:
        getattr(CLUSTER, method)(*arguments, **options)
    assert str(raised.value).startswith(problem)


@pytest.mark.parametrize(
    ("function", "arguments", "problem"),
    [
        (kschedctl.load, [5], "paths has the type int: str or Path is expected"),
        (kschedctl.lint, [5], "paths has the type int: str, Path or iterable of str or Path is expected"),
    ],
)
def test_functions_say_it_too(function: Any, arguments: list[Any], problem: str) -> None:
    with pytest.raises(kschedctl.InputError, match=problem):
        function(*arguments)


def test_right_types_pass() -> None:
    """Integers where floats are declared, subclasses, iterators and texts as iterables of text are right."""
    assert SchedulingCluster(CLUSTER).explain(CLUSTER.pods.pod(0)).verdict.nodes == ("a",)
    assert SchedulingCluster(CLUSTER).explain(
        {"metadata": {"name": "q"}, "spec": {"containers": [{"name": "c"}]}}
    ).verdict.nodes == ("a",)
    assert SchedulingCluster(CLUSTER).drain("a").nodes[0].node == "a"
    assert SchedulingCluster(CLUSTER).capacity("default/p", most=1).copies == 1


def test_a_wrong_name_stays_a_type_error() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'sed'"):
        SchedulingCluster(CLUSTER).explain("default/p", sed=1)  # type: ignore[call-arg]
