"""The contract of plugins, as checks over a plugin class.

    from kschedctl.testing.contract import check_plugin
    check_plugin(MyPlugin)

or, one test per check, ``@pytest.mark.parametrize("check", plugin_checks(MyPlugin), ids=str)``.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Overlay
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import LATEST, Release
from kschedctl.scheduler.framework.config.types import default_args
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import Reach
from kschedctl.scheduler.framework.interface import MAX_NODE_SCORE, FilterPlugin, Plugin, ScorePlugin
from kschedctl.scheduler.framework.status import Code, Reason, Rejections, Status
from kschedctl.testing.plugin_checks import (
    answers_depend_on_no_more_of_the_pod_than_own_part_says,
    answers_depend_on_no_more_than_reads_says,
    changed_overlays,
    changes_of,
    check_arithmetic,
    check_operands,
    copies_change_no_more_than_reach_of_copies_says,
    placed_copies_count_as_in_a_changed_cluster,
    placed_copies_follow_any_pods,
    pods_change_no_more_than_reach_of_pods_says,
    preparing_depends_on_no_more_than_prepares_from_says,
)
from kschedctl.testing.probe import PluginSubject, ask, prepare, prepare_scores, run_filter
from kschedctl.testing.samples import SAMPLES, Sample, SampleChange, SampleObjects

_FILTER_CODES: Final = (Code.SUCCESS, Code.ERROR, Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)


@dataclass(frozen=True)
class ContractCheck:
    """A clause of the contract for a plugin. A call checks it and raises ``AssertionError`` for a violation."""

    subject: PluginSubject
    clause: Callable[[PluginSubject, Sample], None]
    samples: tuple[Sample, ...]

    def __call__(self) -> None:
        """Check the clause over all samples."""
        for sample in self.samples:
            try:
                self.clause(self.subject, sample)
            except AssertionError as error:
                raise AssertionError(f"{self.subject.name}, sample {sample.id}: {error}") from None

    def __str__(self) -> str:
        return f"{self.subject.name}-{self.clause.__name__}"


def plugin_checks(
    plugin: type[Plugin],
    *,
    args: msgspec.Struct | None = None,
    samples: Sequence[Sample] = SAMPLES,
    release: Release = LATEST,
) -> list[ContractCheck]:
    """Return the checks of a plugin, one per clause.

    Parameters
    ----------
    plugin : type of Plugin
        The class of the plugin.
    args : msgspec.Struct, optional
        The plugin's arguments; by default those of the in-tree plugin of the same name, or none.
    samples : sequence of Sample, optional
        Pods to place, and clusters to place them in. Add samples that are relevant for the plugin.
    release : Release, optional
        The Kubernetes release whose rules apply; by default the latest.
    """
    subject = PluginSubject(plugin, args if args is not None else default_args(release).get(plugin.name), release)
    return [ContractCheck(subject, clause, tuple(samples)) for clause in CLAUSES]


def check_plugin(
    plugin: type[Plugin],
    *,
    args: msgspec.Struct | None = None,
    samples: Sequence[Sample] = SAMPLES,
    release: Release = LATEST,
) -> None:
    """Check a plugin; the parameters are those of ``plugin_checks``.

    Raises
    ------
    AssertionError
        If the plugin violates a clause; the first violation is reported.
    """
    for check in plugin_checks(plugin, args=args, samples=samples, release=release):
        check()


def takes_part_somewhere(subject: PluginSubject, sample: Sample) -> None:
    """Check that the plugin has a name and at least one extension point."""
    assert subject.name, "the plugin has no name"
    assert subject.plugin.extension_points(subject.release), "the plugin implements no extension point"


def filter_answers_for_every_world(subject: PluginSubject, sample: Sample) -> None:
    """Check the codes and reasons of Filter: one per world, a text for every rejection, equal ones for nodes alike."""
    cluster = sample.world.cluster()
    for rows in (cluster.nodes.rows, cluster.nodes.rows[::2], cluster.nodes.rows[:0]):
        for rejections in _filtered(subject, sample, cluster, cluster.overlay(rows)):
            _check_rejections(rejections, len(rows))


def operands_have_words_and_can_be_kept(subject: PluginSubject, sample: Sample) -> None:
    """Check that the operands of reasons have a text, are documented, and survive a round trip through JSON."""
    cluster = sample.world.cluster()
    for rejections in _filtered(subject, sample, cluster, cluster.overlay()):
        for position in range(len(cluster.nodes)):
            for reason in rejections.reasons(position):
                if reason.operands is not None:
                    check_operands(reason.operands)


def score_answers_for_every_row(subject: PluginSubject, sample: Sample) -> None:
    """Check that scores are int64, one per row, and 0 to 100 after NormalizeScore, which keeps its input unchanged."""
    cluster = sample.world.cluster()
    plugin = subject.over(cluster)
    if not isinstance(plugin, ScorePlugin):
        return
    for rows in (cluster.nodes.rows, cluster.nodes.rows[::2], cluster.nodes.rows[:0]):
        state = CycleState()
        status = prepare_scores(plugin, state, sample.pod, rows)
        if status.code is not Code.SUCCESS:
            assert status.code in (Code.SKIP, Code.ERROR), f"pre_score returns {status.code}"
            continue
        raw = plugin.score(state, sample.pod, rows)
        _check_array("score", raw, np.int64, len(rows))
        before = raw.copy()
        normalized = plugin.normalize_score(state, sample.pod, raw)
        _check_array("normalize_score", normalized, np.int64, len(rows))
        assert np.array_equal(raw, before), "normalize_score changes its input array"
        outside = normalized[(normalized < 0) | (normalized > MAX_NODE_SCORE)]
        assert not len(outside), f"normalised scores are 0 to {MAX_NODE_SCORE}, not {outside[0]}"


def score_arithmetic_is_that_of_the_score(subject: PluginSubject, sample: Sample) -> None:
    """Check that the steps of a plugin's arithmetic lead to the scores that it returned, if it reports arithmetic."""
    cluster = sample.world.cluster()
    plugin, state, rows = subject.over(cluster), CycleState(), cluster.nodes.rows
    if not isinstance(plugin, ScorePlugin):
        return
    if prepare_scores(plugin, state, sample.pod, rows).code is not Code.SUCCESS:
        return
    raw = plugin.score(state, sample.pod, rows)
    normalized = plugin.normalize_score(state, sample.pod, raw)
    for position, row in enumerate(rows.tolist()):
        of_score = plugin.explain_score(state, sample.pod, row)
        if of_score is not None:
            check_arithmetic(of_score, int(raw[position]))
        of_normalizing = plugin.explain_normalize_score(state, sample.pod, raw, position)
        if of_normalizing is not None:
            check_arithmetic(of_normalizing, int(normalized[position]))


def filter_checks_are_those_of_the_filter(subject: PluginSubject, sample: Sample) -> None:
    """Check that all comparisons that Filter reports for a node hold exactly if the pod passes, if it reports any."""
    cluster = sample.world.cluster()
    plugin, state = subject.over(cluster), CycleState()
    if not isinstance(plugin, FilterPlugin) or prepare(plugin, state, sample.pod)[0].code is not Code.SUCCESS:
        return
    rejected = run_filter(plugin, state, sample.pod, cluster.overlay()).rejected
    for row in cluster.nodes.rows.tolist():
        checks = plugin.explain_filter(state, sample.pod, row)
        passes, node = not rejected[row], cluster.nodes.names[row]
        said = [check.wanted for check in checks if not check.holds]
        assert not checks or passes == (not said), (
            f"{node}: {'passes' if passes else 'is rejected'}, but these checks do not hold: {said}"
        )
        assert all(check.wanted and check.found for check in checks), f"{node}: a check has no text"


def copes_with_nothing(subject: PluginSubject, sample: Sample) -> None:
    """Check that the plugin works in a cluster without pods and in an empty cluster."""
    nodes = tuple(obj for obj in sample.world.objects if not isinstance(obj, Pod))
    for world in (SampleObjects(nodes), SampleObjects(())):
        cluster = world.new_cluster()
        for rejections in _filtered(subject, sample, cluster, cluster.overlay()):
            _check_rejections(rejections, len(cluster.nodes))
        ask(subject.over(cluster), cluster, sample.pod)


def answers_the_same_again(subject: PluginSubject, sample: Sample) -> None:
    """Check that results are reproducible, with the same plugin object and with a new one."""
    cluster = sample.world.cluster()
    plugin = subject.over(cluster)
    first = ask(plugin, cluster, sample.pod)
    assert ask(plugin, cluster, sample.pod) == first, "a second call returns another result"
    other = sample.world.new_cluster()
    assert ask(subject.over(other), other, sample.pod) == first, "a new plugin object returns another result"


def leaves_its_inputs_alone(subject: PluginSubject, sample: Sample) -> None:
    """Check that the plugin changes neither the pod nor the cluster nor an overlay."""
    cluster = sample.world.new_cluster()
    plugin = subject.over(cluster)
    before = _contents(cluster, sample, plugin)
    ask(plugin, cluster, sample.pod)
    for change, overlay in changed_overlays(cluster):
        state = CycleState()
        if prepare(plugin, state, sample.pod)[0].code is Code.SUCCESS:
            n_changes = len(overlay.changes())
            run_filter(plugin, state, sample.pod, overlay)
            assert len(overlay.changes()) == n_changes, f"the overlay is changed ({change})"
    assert _contents(cluster, sample, plugin) == before, "the pod or the cluster is changed"


def does_not_depend_on_the_order_of_nodes(subject: PluginSubject, sample: Sample) -> None:
    """Check that results do not depend on the order of the nodes."""
    cluster, other = sample.world.cluster(), sample.world.reversed().new_cluster()
    answers, others = ask(subject.over(cluster), cluster, sample.pod), ask(subject.over(other), other, sample.pod)
    assert others == answers, "with the nodes in reverse order, the result differs"


def judges_each_node_alone(subject: PluginSubject, sample: Sample) -> None:
    """Check that Filter returns the same status for a node alone and together with other nodes."""
    cluster = sample.world.cluster()
    for together in _filtered(subject, sample, cluster, cluster.overlay()):
        for row in cluster.nodes.rows:
            (alone,) = _filtered(subject, sample, cluster, cluster.overlay(np.array([row], dtype=np.int64)))
            node = cluster.nodes.names[row]
            assert alone.status(0) == together.status(int(row)), f"for {node} alone, filter returns another status"


def overlay_equals_really_changing(subject: PluginSubject, sample: Sample) -> None:
    """Check that Filter returns the same status for a world with other pods as for a cluster with these pods.

    The check ends if PreFilter returns Skip in the snapshot, because the scheduler then does not call Filter for
    changed nodes either.
    """
    cluster = sample.world.cluster()
    plugin = subject.over(cluster)
    if not isinstance(plugin, FilterPlugin):
        return
    for name, overlay in changed_overlays(cluster):
        state = CycleState()
        if prepare(plugin, state, sample.pod)[0].code is not Code.SUCCESS:
            return
        found = run_filter(plugin, state, sample.pod, overlay)
        _check_rejections(found, len(overlay))
        for world, change in enumerate(changes_of(cluster, overlay)):
            expected = _really(subject, sample, change)
            if expected is not None:
                said = found.status(world)
                assert said == expected, (
                    f"{change.node} with {name}: filter returns {said}, but {expected} in the changed cluster"
                )


def leaves_pods_out_where_reads_does(subject: PluginSubject, sample: Sample) -> None:
    """Check that Filter does not depend on pods if ``reads`` declares no dependency on pods."""
    cluster = sample.world.cluster()
    plugin = subject.over(cluster)
    if not isinstance(plugin, FilterPlugin) or plugin.reads is None or plugin.reads.pods is not Reach.NOTHING:
        return
    for unchanged in _filtered(subject, sample, cluster, cluster.overlay()):
        for name, overlay in changed_overlays(cluster):
            for changed in _filtered(subject, sample, cluster, overlay):
                assert _statuses(changed) == _statuses(unchanged), (
                    f"reads declares no pods, but {name} change the result"
                )


CLAUSES: Final[tuple[Callable[[PluginSubject, Sample], None], ...]] = (
    takes_part_somewhere,
    filter_answers_for_every_world,
    operands_have_words_and_can_be_kept,
    score_answers_for_every_row,
    score_arithmetic_is_that_of_the_score,
    filter_checks_are_those_of_the_filter,
    copes_with_nothing,
    answers_the_same_again,
    leaves_its_inputs_alone,
    does_not_depend_on_the_order_of_nodes,
    judges_each_node_alone,
    overlay_equals_really_changing,
    leaves_pods_out_where_reads_does,
    answers_depend_on_no_more_than_reads_says,
    preparing_depends_on_no_more_than_prepares_from_says,
    answers_depend_on_no_more_of_the_pod_than_own_part_says,
    copies_change_no_more_than_reach_of_copies_says,
    placed_copies_count_as_in_a_changed_cluster,
    pods_change_no_more_than_reach_of_pods_says,
    placed_copies_follow_any_pods,
)


def _filtered(subject: PluginSubject, sample: Sample, cluster: Cluster, nodes: Overlay) -> Iterator[Rejections]:
    """Yield the result of Filter, unless the plugin has no Filter or PreFilter does not return Success."""
    plugin = subject.over(cluster)
    state = CycleState()
    if isinstance(plugin, FilterPlugin) and prepare(plugin, state, sample.pod)[0].code is Code.SUCCESS:
        yield run_filter(plugin, state, sample.pod, nodes)


def _statuses(rejections: Rejections) -> list[Status]:
    return [rejections.status(position) for position in range(len(rejections.code))]


def _check_array(what: str, array: object, dtype: type[np.generic], length: int) -> None:
    assert isinstance(array, np.ndarray), f"{what} is a {type(array).__name__}, not an array"
    assert array.dtype == dtype, f"{what} is of {array.dtype}, not {np.dtype(dtype)}"
    assert array.shape == (length,), f"{what} has the shape {array.shape}, not ({length},)"


def _check_rejections(rejections: Rejections, length: int) -> None:
    _check_array("the code of filter", rejections.code, np.int8, length)
    _check_array("the reason of filter", rejections.reason, np.int64, length)
    number, alike = rejections.distinct(), dict[int, tuple[Reason, ...]]()
    _check_array("alike", number, np.int64, length)
    for position, status in enumerate(_statuses(rejections)):
        assert status.code in _FILTER_CODES, f"filter returns {status.code}"
        reasons = rejections.reasons(position)
        assert alike.setdefault(int(number[position]), reasons) == reasons, "nodes that are alike differ in reasons"
        if status.code is Code.SUCCESS:
            assert not reasons, "filter has reasons although the pod passes"
            continue
        assert all(status.reasons), "filter has an empty reason"
        assert status.reasons, "filter rejects a node without a reason"
        words = tuple(reason.text for reason in reasons)
        assert words == status.reasons, f"the details have the texts {words}, the reasons are {status.reasons}"


def _contents(cluster: Cluster, sample: Sample, plugin: Plugin) -> tuple[bytes, ...]:
    """Return everything that a plugin could change, as bytes."""
    columns = cluster.resources(plugin.handle.request_rules)
    pods = cluster.pods
    arrays = (columns.allocatable, columns.requested, columns.per_class, columns.non_zero_requested)
    objects = (sample.pod, cluster.nodes.objects, [pods.pod(i) for i in range(len(pods))])
    return (
        *map(msgspec.msgpack.encode, objects),
        *(array.tobytes() for array in (*arrays, pods.class_id, pods.node_row, cluster.nodes.rows)),
    )


def _really(subject: PluginSubject, sample: Sample, change: SampleChange) -> Status | None:
    """Return Filter's status for the changed node in a cluster that is built with the change.

    The status is ``None`` if PreFilter rejects the pod or fails, and Success if PreFilter returns Skip.
    """
    cluster = sample.world.cluster(change)
    plugin = subject.over(cluster)
    state = CycleState()
    status, _ = prepare(plugin, state, sample.pod)
    if status.code is Code.SKIP:
        return Status()
    if status.code is not Code.SUCCESS:
        return None
    row = np.array([cluster.nodes.row[change.node]], dtype=np.int64)
    return run_filter(plugin, state, sample.pod, cluster.overlay(row)).status(0)
