"""Checks of what a plugin declares and reports: dependencies, overlays, the arithmetic of scores, and operands."""

import ast
import contextlib
import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

import msgspec
import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Overlay
from kschedctl.cluster.records import PENDING
from kschedctl.common.arrays import Int64Array
from kschedctl.objects.core import Taint
from kschedctl.objects.meta import ApiObject
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import Dependencies, Reach
from kschedctl.scheduler.framework.explanation import Arithmetic
from kschedctl.scheduler.framework.interface import FilterPlugin, PlacedCopies, Plugin, ScorePlugin
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.testing.probe import PluginAnswers, PluginSubject, ask, prepare, prepare_scores, run_filter
from kschedctl.testing.samples import Sample, SampleChange

_TAINT: Final = Taint(key="changed", effect="NoSchedule")


@dataclass(frozen=True, slots=True)
class _Difference:
    """A cluster that differs from the sample in one part.

    Attributes
    ----------
    cluster : Cluster
        The changed cluster.
    words : str
        A description of the change.
    pods_of : str
        The node with changed pods; empty if no pods changed.
    node : str
        The changed node; empty if no node changed.
    kind : type, optional
        The kind whose objects changed; ``None`` if none did.
    """

    cluster: Cluster
    words: str
    pods_of: str = ""
    node: str = ""
    kind: type[ApiObject] | None = None

    def touched(self, reads: Dependencies, names: tuple[str, ...]) -> frozenset[str]:
        """Return the nodes for which results with these dependencies can differ."""
        if self.kind is not None:
            return frozenset(names if self.kind in reads.kinds else ())
        node, reach = (self.pods_of, reads.pods) if self.pods_of else (self.node, reads.nodes)
        return frozenset(names if reach is Reach.CLUSTER else (node,) if reach is Reach.NODE else ())


def _changed_clusters(cluster: Cluster) -> Iterator[_Difference]:
    waiting = np.flatnonzero(cluster.pods.node_row == PENDING).tolist()
    for row, name in enumerate(cluster.nodes.names):
        here = cluster.pods.on_node(row).tolist()
        if here:
            yield _Difference(cluster.with_pods(removed=here), f"the pods of {name} removed", pods_of=name)
        for index in waiting:
            pod = cluster.pods.pod(index)
            bound = replace(pod, spec=replace(pod.spec, node_name=name))
            words = f"{cluster.pods.key(index)} bound to {name}"
            yield _Difference(cluster.with_pods(added=[bound]), words, pods_of=name)
        objects = cluster.nodes.objects
        old, spec, status = objects[row], objects[row].spec, objects[row].status
        for words, node in (
            ("cordoned", replace(old, spec=replace(spec, unschedulable=not spec.unschedulable))),
            ("tainted", replace(old, spec=replace(spec, taints=(*spec.taints, _TAINT)))),
            ("without labels", replace(old, metadata=replace(old.metadata, labels={}))),
            ("without images", replace(old, status=replace(status, images=()))),
            ("without allocatable resources", replace(old, status=replace(status, allocatable={}))),
            ("with other declared features", replace(old, status=replace(status, declared_features=("Changed",)))),
        ):
            changed = cluster.with_nodes((*objects[:row], node, *objects[row + 1 :]))
            yield _Difference(changed, f"{name} {words}", node=name)
    for kind in cluster.kinds:
        yield _Difference(cluster.with_objects(kind, ()), f"every {kind.__name__} removed", kind=kind)


def answers_depend_on_no_more_than_reads_says(subject: PluginSubject, sample: Sample) -> None:
    """Check that Filter and Score give the same result for a node if nothing that ``reads`` declares has changed."""
    cluster = sample.world.cluster()
    plugin = subject.over(cluster)
    if plugin.reads is None:
        return
    names = cluster.nodes.names
    before = ask(plugin, cluster, sample.pod)
    for difference in _changed_clusters(cluster):
        after = ask(subject.over(difference.cluster), difference.cluster, sample.pod)
        touched = difference.touched(plugin.reads, names)
        # PreFilter and PreScore may skip after a change; then there is no result to compare.
        for node in [name for name in names if name not in touched]:
            for what, was, now in _of_node(before, after, node):
                assert now == was, (
                    f"{what} of {node} depends on more than reads declares: with {difference.words}, it differs"
                )


def _of_node(before: PluginAnswers, after: PluginAnswers, node: str) -> Iterator[tuple[str, object, object]]:
    if node in before.verdicts and node in after.verdicts:
        yield "the verdict", before.verdicts[node], after.verdicts[node]
    if node in before.raw and node in after.raw:
        yield "the score", before.raw[node], after.raw[node]


def preparing_depends_on_no_more_than_prepares_from_says(subject: PluginSubject, sample: Sample) -> None:
    """Check that results and state of PreFilter and PreScore hold if nothing in ``prepares_from`` has changed."""
    cluster = sample.world.cluster()
    plugin = subject.over(cluster)
    if plugin.prepares_from is None:
        return
    for difference in _changed_clusters(cluster):
        if difference.touched(plugin.prepares_from, cluster.nodes.names):
            continue
        other = subject.over(difference.cluster)
        kept, anew = _prepared(plugin, sample), _prepared(other, sample)
        words = f"with {difference.words}"
        assert kept[0] == anew[0], f"preparing depends on more than prepares_from declares: {words}, its result differs"
        states = _said(other, kept[1], sample), _said(other, anew[1], sample)
        assert states[0] == states[1], (
            f"the prepared state depends on more than prepares_from declares: {words}, it differs"
        )


def _prepared(plugin: Plugin, sample: Sample) -> tuple[tuple[tuple[Status, frozenset[str] | None], Status], CycleState]:
    state = CycleState()
    rows = plugin.handle.cluster.nodes.rows
    said = prepare(plugin, state, sample.pod)
    return (said, prepare_scores(plugin, state, sample.pod, rows)), state


def _said(plugin: Plugin, state: CycleState, sample: Sample) -> object:
    """Return the results of Filter and Score for a state; an error about missing preparation is a result, too."""
    cluster = plugin.handle.cluster
    verdicts: list[object] = []
    if isinstance(plugin, FilterPlugin):
        found = run_filter(plugin, state, sample.pod, cluster.overlay())
        verdicts = [found.status(row) for row in range(len(cluster.nodes))]
    scored = isinstance(plugin, ScorePlugin) and prepare_scores(plugin, CycleState(), sample.pod, cluster.nodes.rows)
    if isinstance(plugin, ScorePlugin) and scored and scored.code is Code.SUCCESS:
        return verdicts, plugin.score(state, sample.pod, cluster.nodes.rows).tolist()
    return verdicts, None


def answers_depend_on_no_more_of_the_pod_than_own_part_says(subject: PluginSubject, sample: Sample) -> None:
    """Check that results do not depend on the pod's name, uid, labels and owners if ``own_part`` does not."""
    cluster = sample.world.cluster()
    plugin = subject.over(cluster)
    pod = sample.pod
    other = replace(
        pod, metadata=replace(pod.metadata, name="other", uid="other", labels={"app": "other"}, owner_references=())
    )
    if plugin.reads is None or plugin.own_part(pod) != plugin.own_part(other):
        return
    before, after = ask(plugin, cluster, pod), ask(subject.over(cluster), cluster, other)
    assert (after.verdicts, after.raw) == (before.verdicts, before.raw), "the results depend on the pod's own metadata"


def copies_change_no_more_than_reach_of_copies_says(subject: PluginSubject, sample: Sample) -> None:
    """Check that a copy of the pod on a node does not change results beyond what ``reach_of_copies`` states."""
    cluster = sample.world.cluster()
    plugin = subject.over(cluster)
    reach = plugin.reach_of_copies(sample.pod)
    if reach is Reach.CLUSTER:
        return
    before = ask(plugin, cluster, sample.pod)
    for name in cluster.nodes.names:
        changed = cluster.with_copies(sample.pod, [name])
        after = ask(subject.over(changed), changed, sample.pod)
        words = f"with a copy of the pod on {name}, it differs"
        assert after.pre_filter == before.pre_filter, f"PreFilter depends on copies: {words}"
        for what in _beyond(before, after, name, reach):
            raise AssertionError(f"{what} depends on more than reach_of_copies says: {words}")


def pods_change_no_more_than_reach_of_pods_says(subject: PluginSubject, sample: Sample) -> None:
    """Check that pods that come to a node or leave it do not change results beyond what ``reach_of_pods`` states."""
    cluster = sample.world.cluster()
    plugin = subject.over(cluster)
    reach = plugin.reach_of_pods(sample.pod)
    if reach is Reach.CLUSTER:
        return
    before = ask(plugin, cluster, sample.pod)
    for difference in _changed_clusters(cluster):
        if not difference.pods_of:
            continue
        after = ask(subject.over(difference.cluster), difference.cluster, sample.pod)
        words = f"with {difference.words}, it differs"
        assert after.pre_filter == before.pre_filter, f"PreFilter depends on other pods: {words}"
        for what in _beyond(before, after, difference.pods_of, reach):
            raise AssertionError(f"{what} depends on more than reach_of_pods says: {words}")


def _beyond(before: PluginAnswers, after: PluginAnswers, node: str, reach: Reach) -> Iterator[str]:
    """Yield the results that differ although a change of the pods of one node does not reach them."""
    for each in {**before.verdicts, **before.raw}:
        if each == node and reach is Reach.NODE:
            continue
        yield from (f"{what} of {each}" for what, was, now in _of_node(before, after, each) if now != was)


def placed_copies_count_as_in_a_changed_cluster(subject: PluginSubject, sample: Sample) -> None:
    """Check that ``placed_copies`` gives the results of Filter and Score in a cluster with the copies on its nodes."""
    cluster = sample.world.cluster()
    plugin = subject.over(cluster)
    if plugin.reach_of_copies(sample.pod) is not Reach.CLUSTER:
        return
    ((status, _), pre_score), state = _prepared(plugin, sample)
    fails = {status.code, pre_score.code} - {Code.SUCCESS, Code.SKIP}
    placed = None if fails else plugin.placed_copies(state, sample.pod)
    if placed is None:
        return
    names, on = cluster.nodes.names, list[str]()
    for row in 2 * cluster.nodes.rows.tolist():
        if placed.rejected[row]:
            continue
        placed.place(row)
        on.append(names[row])
        words = f"placed_copies differs from a cluster with copies of the pod on {', '.join(on)}"
        _check_placed(placed, subject, cluster.with_copies(sample.pod, on), sample, words)


def placed_copies_follow_any_pods(subject: PluginSubject, sample: Sample) -> None:
    """Check that ``PlacedCopies.follow`` gives the results in a cluster to which pods came, or which they left."""
    cluster = sample.world.cluster()
    plugin = subject.over(cluster)
    if plugin.reach_of_pods(sample.pod) is not Reach.CLUSTER:
        return
    for difference in _changed_clusters(cluster):
        ((status, _), pre_score), state = _prepared(plugin, sample)
        fails = {status.code, pre_score.code} - {Code.SUCCESS, Code.SKIP}
        placed = None if fails or not difference.pods_of else plugin.placed_copies(state, sample.pod)
        after = difference.cluster
        moves = after.pods.mark.moves_since(cluster.pods.mark)
        if placed is None or moves is None or not placed.follow(after, moves.on_nodes()):
            continue
        _check_placed(placed, subject, after, sample, f"placed_copies differs from a cluster with {difference.words}")
        free = np.flatnonzero(~placed.rejected)
        if len(free):
            placed.place(int(free[0]))
            node = cluster.nodes.names[free[0]]
            words = f"placed_copies differs from a cluster with {difference.words} and a copy of the pod on {node}"
            _check_placed(placed, subject, after.with_copies(sample.pod, [node]), sample, words)


def _check_placed(placed: PlacedCopies, subject: PluginSubject, changed: Cluster, sample: Sample, words: str) -> None:
    """Check that results are those of Filter and Score over a cluster."""
    names = changed.nodes.names
    expected = ask(subject.over(changed), changed, sample.pod)
    for node, is_rejected in zip(names, placed.rejected.tolist(), strict=True):
        said = node in expected.verdicts and expected.verdicts[node].code.rejected
        assert is_rejected == said, f"the verdict of {node} by {words}"
    scores = placed.scores(changed.nodes.rows)
    if scores is not None and expected.scores:
        assert dict(zip(names, scores.tolist(), strict=True)) == expected.scores, f"a score by {words}"
    else:
        assert len(set(expected.scores.values()) | set([] if scores is None else scores.tolist())) < 2, (
            f"a missing score by {words}"
        )


# Evaluation of the arithmetic that a plugin reports for its score, from the expressions of the steps alone.

Number = int | float


def work_out(expression: str, names: Mapping[str, Number]) -> Number:
    """Evaluate the expression of a step.

    Parameters
    ----------
    expression : str
        The expression, in the syntax that ``kschedctl.scheduler.framework.explanation`` describes.
    names : mapping of str to number
        The values of the previous steps, by name.

    Raises
    ------
    AssertionError
        If the expression is not valid, or contains a name that no previous step has.

    Examples
    --------
    >>> work_out("100 - 100 * 1 // 3", {}), work_out("round(2 * half)", {"half": 1.25})
    (67, 3)
    """
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError as error:
        raise AssertionError(f"{expression} is not an expression: {error}") from None
    return _value(tree.body, names)


def check_arithmetic(arithmetic: Arithmetic, result: int) -> None:
    """Check that the steps of a plugin's arithmetic lead to the score that the plugin returned.

    Parameters
    ----------
    arithmetic : Arithmetic
        The arithmetic that the plugin reports.
    result : int
        The score that the plugin returned.

    Raises
    ------
    AssertionError
        If a step has another value than its expression, the last step is not the score, there is no formula or no step,
        or the arithmetic does not survive a round trip through JSON.
    """
    kind = type(arithmetic).__name__
    assert arithmetic.formula(), f"{kind} has no formula"
    steps = tuple(arithmetic.steps())
    assert steps, f"{kind} has no steps"
    names: dict[str, Number] = {}
    for step in steps:
        found = work_out(step.expression, names)
        said = f"{kind}: {step.name} = {step.expression}"
        assert isinstance(found, float) == isinstance(step.value, float), f"{said} is {found!r}, not {step.value!r}"
        assert math.isclose(found, step.value, rel_tol=1e-12), f"{said} is {found}, not {step.value}"
        names[step.name] = found
    assert steps[-1].value == result, f"{kind}: the last step is {steps[-1].value}, but the plugin returned {result}"
    try:
        again = msgspec.json.decode(msgspec.json.encode(arithmetic), type=type(arithmetic))
    except (TypeError, msgspec.MsgspecError) as error:
        raise AssertionError(f"{kind} cannot be encoded as JSON: {error}") from None
    assert again == arithmetic, f"{kind} is decoded from JSON as {again!r}"


def _value(node: ast.expr, names: Mapping[str, Number]) -> Number:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.Name(id=name):
            assert name in names, f"no earlier step is named {name}"
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            return _OPERATORS[type(operator)](_value(left, names), _value(right, names))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(arg, names) for arg in args))
    raise AssertionError(f"{ast.unparse(node)} is not allowed in an expression")


def _divide(dividend: Number, divisor: Number) -> int:
    assert isinstance(dividend, int), f"// divides whole numbers, not {dividend}"
    assert isinstance(divisor, int), f"// divides whole numbers, not by {divisor}"
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def _round(number: Number) -> int:
    whole = math.trunc(number)
    return whole + int(math.copysign(abs(number - whole) >= 0.5, number))


_OPERATORS: Final[Mapping[type[ast.operator], Callable[[Number, Number], Number]]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: _divide,
}
_FUNCTIONS: Final[Mapping[str, Callable[..., Number]]] = {
    "abs": abs,
    "log": math.log,
    "max": max,
    "min": min,
    "round": _round,
    "sqrt": math.sqrt,
    "trunc": math.trunc,
}


# Overlays in which nodes have other pods than in the sample, for checks of a plugin's Filter.
#
# A world is one position of an overlay: a node with hypothetical pods.


def changed_overlays(cluster: Cluster) -> Iterator[tuple[str, Overlay]]:
    """Yield overlays in which every node has other pods, each with a description of the change.

    Parameters
    ----------
    cluster : Cluster
        The cluster. Its pending pods are the pods that are added.
    """
    rows = cluster.nodes.rows
    on_node = [cluster.pods.on_node(row) for row in rows.tolist()]
    waiting = np.flatnonzero(cluster.pods.node_row == PENDING)

    def overlay(removed: Iterable[Int64Array], added: Iterable[int]) -> Overlay:
        out = cluster.overlay()
        for row, pods in enumerate(removed):
            out.remove(np.full(len(pods), row, dtype=np.int64), pods)
        for pod in added:
            out.add(rows, np.full(len(rows), pod, dtype=np.int64))
        return out

    yield "its pods removed", overlay(on_node, ())
    yield "its first pod removed", overlay([pods[:1] for pods in on_node], ())
    for pod in waiting.tolist():
        yield f"{cluster.pods.key(pod)} added", overlay((), (pod,))
        yield f"{cluster.pods.key(pod)} in place of its pods", overlay(on_node, (pod,))


def changes_of(cluster: Cluster, overlay: Overlay) -> list[SampleChange]:
    """Return the change in each world of an overlay.

    Parameters
    ----------
    overlay : Overlay
        An overlay of the cluster.
    """
    removed: list[set[str]] = [set() for _ in overlay.rows]
    added: list[set[str]] = [set() for _ in overlay.rows]
    for worlds, pods, sign in overlay.changes():
        for world, pod in zip(worlds.tolist(), pods.tolist(), strict=True):
            (added if sign > 0 else removed)[world].add(cluster.pods.key(pod))
    names = [cluster.nodes.names[row] for row in overlay.rows]
    return [SampleChange(*change) for change in zip(names, map(frozenset, removed), map(frozenset, added), strict=True)]


# Checks of the operands of a reason: their text, documentation and serialisation.


def check_operands(operands: Operands) -> None:
    """Check the operands of a reason.

    Raises
    ------
    AssertionError
        If the operands have no text, do not survive a round trip through JSON, have a field that is not documented, or
        report a shortfall that is not positive.
    """
    kind = type(operands)
    assert isinstance(operands, Operands), f"operands are a {kind.__name__}, not a struct derived from Operands"
    undocumented = undocumented_fields(kind)
    assert not undocumented, f"the docstring of {kind.__name__} does not document {', '.join(undocumented)}"
    words = operands.words()
    assert isinstance(words, str), f"the text of {kind.__name__} is a {type(words).__name__}"
    assert words, f"{kind.__name__} has no text"
    try:
        msgspec.json.encode(operands.data())
        again = msgspec.json.decode(msgspec.json.encode(operands), type=kind)
    except (TypeError, NotImplementedError, msgspec.MsgspecError) as error:
        raise AssertionError(f"{kind.__name__} cannot be encoded as JSON: {error}") from None
    assert again == operands, f"{kind.__name__} is decoded from JSON as {again!r}"
    shortfall = operands.shortfall()
    assert shortfall is None or shortfall.wanted > 0, f"the shortfall of {kind.__name__} is not positive"


# Finding the source of a class takes longer than all other checks of its operands.
@cache
def undocumented_fields(kind: type[Operands]) -> tuple[str, ...]:
    """Return the fields of a struct that neither a ``#:`` comment nor its docstring describes."""
    documented = set()
    for base in kind.__mro__:
        documented.update(re.findall(r"^\s*(\w+) : ", base.__doc__ or "", re.MULTILINE))
        with contextlib.suppress(OSError, TypeError):
            documented.update(re.findall(r"#: .*\n\s+(\w+):", inspect.getsource(base)))
    return tuple(name for name in kind.__struct_fields__ if name not in documented)
