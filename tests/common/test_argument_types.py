"""Arguments of a wrong type: each error is one sentence about the argument, whatever the method."""

from pathlib import Path
from typing import Any

import pytest

import kschedctl
from tests.builders import make_cluster, make_node, make_pod, scheduling_cluster

CLUSTER = scheduling_cluster(make_cluster([make_node("a")], [make_pod("p", node="a")]))


@pytest.mark.parametrize(
    ("method", "arguments", "options", "problem"),
    [
        ("explain", [5], {}, "a pod is expected, not int\n  give a Pod, a mapping, a name or a path"),
        ("explain", [None], {}, "a pod is expected, not NoneType"),
        ("explain", ["default/p"], {"suggest": "3"}, "suggest has the type str: int is expected"),
        ("explain", ["default/p"], {"handle": 1}, "handle has the type int: AnalysisHandle is expected"),
        ("capacity", [b"default/p"], {}, "a pod is expected, not bytes"),
        ("capacity", ["default/p"], {"max": True}, "max has the type bool: int is expected"),
        ("simulate", [5], {}, "a pod is expected, not int"),
        ("simulate", [[5]], {}, "a pod is expected, not int"),
        ("drain", [3], {}, "nodes has the type int: sequence of str is expected"),
        ("drain", [["a", 3]], {}, "an item of nodes has the type int: str is expected"),
        ("diff", ["prod/"], {}, "other has the type str: SchedulingCluster is expected"),
        ("rollout", [5], {}, "workload: a workload is expected, not int"),
        ("optimum", [], {"time_limit": "60"}, "time_limit has the type str: float is expected"),
        ("what_if", ["cordon a"], {}, "edits has the type str: Edit is expected"),
        ("what_if", [], {"cordon": 5}, "cordon has the type int: str or iterable of str is expected"),
        ("volumes", [], {"claim": Path("x")}, "claim has the type PosixPath: str is expected"),
        ("decide", [5], {}, "pod has the type int: Pod, mapping, str or Path is expected"),
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
    assert CLUSTER.explain(CLUSTER.pods[0]).verdict.nodes == ("a",)
    assert CLUSTER.explain({"metadata": {"name": "q"}, "spec": {"containers": [{"name": "c"}]}}).verdict.nodes == ("a",)
    assert CLUSTER.drain("a").nodes[0].node == "a"
    assert CLUSTER.capacity("default/p", max=1).copies == 1


def test_a_wrong_name_stays_a_type_error() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'sed'"):
        CLUSTER.explain("default/p", sed=1)  # type: ignore[call-arg]
