"""The cache of plugin results per pod spec: after a change, plugins run only on the nodes that the change touched.

A plugin declares its dependencies in ``reads`` and ``prepares_from``. Results of a plugin that declares nothing, or
that reported a feature as not modelled, are not cached. A cached result carries the versions of the cluster parts. It
is therefore checked against any state of the cluster: earlier, later, or derived from a common state by other steps.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import Final, Generic, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from kschedctl.cluster.overlay import Overlay
from kschedctl.cluster.versions import Versions
from kschedctl.common.arrays import Int64Array, Mask, Rows, numbered
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.cycle_state import CycleState, Effects
from kschedctl.scheduler.framework.dependencies import ClusterChanges, Dependencies
from kschedctl.scheduler.framework.interface import PluginsRunner, PreFilterResult
from kschedctl.scheduler.framework.status import Code, Rejections, Status

T = TypeVar("T")
V = TypeVar("V")

#: The maximum number of cached pod specs; the least recently used is evicted first.
_MOST_KINDS: Final = 64
#: Results with more distinct texts than this are not cached, for example if every text names its node.
_MOST_TEXTS: Final = 256
_encode = msgspec.msgpack.Encoder().encode


class _Entry(msgspec.Struct, Generic[V]):
    """A cached result, with the inputs for which it is valid."""

    #: The versions of the parts of the cluster that the plugin depends on.
    versions: Versions
    #: The part of the pod that the plugin depends on besides namespace and spec (``Plugin.own_part``).
    whose: Hashable
    #: The result.
    value: V
    #: The values that the plugin wrote to the cycle state. They are written again if the result is reused without
    #: running the plugin.
    effects: Effects


class _Filtered(msgspec.Struct, frozen=True):
    """A filter's result for all nodes: status codes, and indices into the distinct reason texts."""

    code: NDArray[np.int8]
    reason: Int64Array
    texts: tuple[tuple[str, ...], ...]


class _Scored(msgspec.Struct, frozen=True):
    """Raw scores, int64, shape (n_nodes,), a mask of the nodes with a known score, and whether all are known."""

    scores: Int64Array
    known: Mask
    complete: bool


class CachedResults:
    """The cached results for the pods of one spec."""

    def __init__(self, framework: PluginsRunner) -> None:
        self._pre_filter: dict[str, _Entry[object]] = {}
        self._filter: dict[str, _Entry[_Filtered]] = {}
        self._pre_score: dict[str, _Entry[object]] = {}
        self._score: dict[str, _Entry[_Scored]] = {}
        #: By plugin: the raw scores, and the normalized scores computed from that array.
        self._normalized: dict[str, tuple[Int64Array, Int64Array]] = {}
        #: By plugin: the normalized scores of the previous cycle.
        self._last: dict[str, Int64Array] = {}
        #: The plugins whose scores are the same arrays as in the previous cycle, and the weighted sum of these scores.
        self._steady: tuple[set[str], Int64Array] = set(), _NO_ROWS
        self.begin(framework)

    def begin(self, framework: PluginsRunner) -> None:
        """Start a cycle of a framework over its cluster."""
        self._framework = framework
        self._versions = framework.cluster.versions
        self._changes: dict[int, ClusterChanges] = {}

    def _touched(self, entry: _Entry[V], reads: Dependencies) -> Rows | None:
        """Return the nodes whose results may have changed since the entry was written; ``None`` for any node."""
        versions = entry.versions
        if versions is self._versions:
            return _NO_ROWS
        changes = self._changes.get(id(versions))
        if changes is None:
            # ``ClusterChanges`` keeps a reference to the earlier versions, so their id is not reused.
            changes = self._changes[id(versions)] = ClusterChanges(versions, self._versions)
        return changes.touched(reads)

    def pre_filter(
        self, plugin: str, state: CycleState, pod: Pod, ask: Callable[[str, CycleState, Pod], PreFilterResult]
    ) -> PreFilterResult:
        """Return the PreFilter result: the cached one, if nothing that it depends on has changed."""
        found = self._recall(self._pre_filter, plugin, state, pod)
        if isinstance(found, PreFilterResult):
            return found
        said, effects = state.recorded(lambda: ask(plugin, state, pod))
        self._keep(self._pre_filter, plugin, pod, said, effects)
        return said

    def pre_score(
        self, plugin: str, state: CycleState, pod: Pod, rows: Rows, ask: Callable[[str, CycleState, Pod, Rows], Status]
    ) -> Status:
        """Return the PreScore status, from the cache if its dependencies are unchanged.

        The feasible nodes, ``rows``, are not compared: a plugin whose PreScore depends on them must not declare
        ``prepares_from``.
        """
        found = self._recall(self._pre_score, plugin, state, pod)
        if isinstance(found, Status):
            return found
        said, effects = state.recorded(lambda: ask(plugin, state, pod, rows))
        self._keep(self._pre_score, plugin, pod, said, effects)
        return said

    def _recall(self, entries: dict[str, _Entry[object]], plugin: str, state: CycleState, pod: Pod) -> object:
        entry = entries.get(plugin)
        if entry is None or not self._is_valid_for(entry, plugin, pod):
            return None
        reads = self._framework.plugin_class(plugin).prepares_from
        rows = None if reads is None else self._touched(entry, reads)
        if rows is None or len(rows):
            return None
        entry.versions = self._versions
        if entry.effects.written:
            state.replay(entry.effects)
        return entry.value

    def filter(
        self, plugin: str, state: CycleState, pod: Pod, nodes: Overlay, ask: Callable[[Overlay], Rejections]
    ) -> Rejections:
        """Return a filter's result for every node; run the filter only on nodes touched since the cached result.

        All nodes are filtered again if more than half of them were touched.

        Args:
            ask: Runs the plugin over an overlay.
        """
        reads, cluster = self._framework.plugin_class(plugin).reads, self._framework.cluster
        if reads is None:
            return ask(nodes)
        entry = self._filter.get(plugin)
        if entry is not None and self._is_valid_for(entry, plugin, pod):
            rows = self._touched(entry, reads)
            if rows is not None and 2 * len(rows) <= len(nodes):
                value: _Filtered | None = entry.value
                if len(rows):
                    again, effects = state.recorded(lambda: ask(cluster.overlay(rows)))
                    value = _patched(entry.value, rows, again) if not effects.not_modelled else None
                else:
                    state.replay(entry.effects)
                if value is not None:
                    entry.versions, entry.value = cluster.versions, value
                    return Rejections(
                        value.code,
                        value.reason,
                        value.texts.__getitem__,
                        # Details are computed on demand.
                        lambda position: ask(Overlay(nodes.pods, nodes.rows[position : position + 1])).reasons(0),
                        lambda: ask(nodes).distinct() + 1,
                    )
        said, effects = state.recorded(lambda: ask(nodes))
        filtered = _filtered(said)
        if filtered is None:
            self._filter.pop(plugin, None)
        else:
            self._keep(self._filter, plugin, pod, filtered, effects)
        return said

    def score(
        self, plugin: str, state: CycleState, pod: Pod, rows: Rows, ask: Callable[[Rows], Int64Array]
    ) -> Int64Array:
        """Return the raw scores of some nodes; run the plugin only on nodes that were touched or never scored.

        Args:
            rows: The feasible nodes, ascending.
            ask: Runs the plugin over node rows.
        """
        reads, n_nodes = self._framework.plugin_class(plugin).reads, len(self._framework.cluster.nodes)
        if reads is None:
            return ask(rows)
        entry = self._score.get(plugin)
        value, open_rows = None, rows
        if entry is not None and self._is_valid_for(entry, plugin, pod):
            touched = self._touched(entry, reads)
            if touched is not None:
                value, open_rows = _still_known(entry.value, touched, rows)
                if not len(open_rows):
                    state.replay(entry.effects)
        if len(open_rows) or entry is None or value is None:
            asked = open_rows
            given, effects = state.recorded(lambda: ask(asked))
            value = _scored(value, n_nodes, open_rows, given)
            self._keep(self._score, plugin, pod, value, effects)
            if len(open_rows) == len(rows):
                return given
        elif entry is not None:
            entry.versions, entry.value = self._versions, value
        return value.scores if len(rows) == n_nodes else value.scores[rows]

    def normalized(self, plugin: str, raw: Int64Array, bring: Callable[[], Int64Array]) -> Int64Array:
        """Return raw scores scaled to 0..100, computed once per array of raw scores.

        Args:
            raw: The plugin's raw scores. Cached arrays are read-only, so the same array always has the same scores.
            bring: Computes the scaled scores.
        """
        if self._framework.plugin_class(plugin).reads is None:
            return bring()
        known = self._normalized.get(plugin)
        if known is None or known[0] is not raw:
            scores = bring()
            known = self._normalized[plugin] = raw, scores if scores is raw else _fixed(scores)
        return known[1]

    def total(self, parts: Sequence[tuple[str, Int64Array, int]], n_rows: int) -> Int64Array:
        """Return the weighted sum of scores; scores unchanged since the previous cycle are already summed up.

        Args:
            parts: Plugin, its scores, shape (n_rows,), and its weight.
        """
        # A writeable array may have been modified since, so identity does not prove equal scores.
        same = {name for name, scores, _ in parts if self._last.get(name) is scores and not scores.flags.writeable}
        names, steady = self._steady
        if same != names:
            steady = np.zeros(n_rows if same else 0, dtype=np.int64)
            for name, scores, weight in parts:
                if name in same:
                    steady += scores * weight
            self._steady = same, steady
        self._last = {name: scores for name, scores, _ in parts}
        total = steady.copy() if same else np.zeros(n_rows, dtype=np.int64)
        for name, scores, weight in parts:
            if name not in same:
                total += scores if weight == 1 else scores * weight
        return total

    def _is_valid_for(self, entry: _Entry[V], plugin: str, pod: Pod) -> bool:
        return entry.whose is None or entry.whose == self._framework.plugin(plugin).own_part(pod)

    def _keep(self, entries: dict[str, _Entry[V]], plugin: str, pod: Pod, value: V, effects: Effects) -> None:
        if effects.not_modelled:
            # The reported features may depend on the nodes that the plugin ran on.
            entries.pop(plugin, None)
        else:
            entries[plugin] = _Entry(self._versions, self._framework.plugin(plugin).own_part(pod), value, effects)


class ResultCache:
    """The cached results of all pod specs; schedulers over derived clusters share it."""

    def __init__(self) -> None:
        self._by_kind: OrderedDict[bytes, CachedResults] = OrderedDict()

    def answers(self, pod: Pod, framework: PluginsRunner) -> CachedResults:
        """Return the cached results for pods with the spec of ``pod``, for a cycle of a framework."""
        kind = _pod_key(pod)
        found = self._by_kind.get(kind)
        if found is None:
            found = self._by_kind[kind] = CachedResults(framework)
            if len(self._by_kind) > _MOST_KINDS:
                self._by_kind.popitem(last=False)
        else:
            self._by_kind.move_to_end(kind)
        found.begin(framework)
        return found


def _pod_key(pod: Pod) -> bytes:
    """Return the cache key of a pod: namespace and spec, and its status if that reports containers or resources."""
    status = pod.status
    reported = status.container_statuses or status.init_container_statuses or status.resources
    return _encode((pod.metadata.namespace, pod.spec, status if reported or status.allocated_resources else None))


def _fixed(array: NDArray[T]) -> NDArray[T]:  # type: ignore[type-var]
    array.setflags(write=False)
    return array


def _filtered(said: Rejections) -> _Filtered | None:
    """Return a filter result without details; ``None`` if it is not worth caching."""
    if not said.code.any():
        return _silent(len(said.code))
    rejected = np.flatnonzero(said.code)
    reason = np.zeros(len(said.code), dtype=np.int64)
    texts: tuple[tuple[str, ...], ...] = ()
    if len(rejected):
        if (said.code[rejected] == Code.ERROR).any():
            return None
        first, own = numbered(said.reason[rejected])
        if len(first) > _MOST_TEXTS:
            return None
        texts = tuple(said.texts(number) for number in said.reason[rejected[first]].tolist())
        reason[rejected] = own
    return _Filtered(_fixed(said.code.copy()), _fixed(reason), texts)


@lru_cache(maxsize=4)
def _every(n_nodes: int) -> Mask:
    return _fixed(np.ones(n_nodes, dtype=np.bool_))


@lru_cache(maxsize=4)
def _silent(n_nodes: int) -> _Filtered:
    """Return the result in which every node passes; most filters return it, so it is shared."""
    return _Filtered(_fixed(np.zeros(n_nodes, dtype=np.int8)), _fixed(np.zeros(n_nodes, dtype=np.int64)), ())


def _patched(known: _Filtered, rows: Rows, again: Rejections) -> _Filtered | None:
    """Return a filter result with the given rows replaced; ``None`` if it is not worth caching."""
    rejected = np.flatnonzero(again.code)
    texts = known.texts
    reason = np.zeros(len(rows), dtype=np.int64)
    for position in rejected.tolist():
        if again.code[position] == Code.ERROR:
            return None
        text = again.texts(int(again.reason[position]))
        if text not in texts:
            texts = (*texts, text)
        reason[position] = texts.index(text)
    if len(texts) > _MOST_TEXTS:
        return None
    code_after, reason_after = known.code, known.reason
    if not np.array_equal(code_after[rows], again.code):
        code_after = code_after.copy()
        code_after[rows] = again.code
        _fixed(code_after)
    if not np.array_equal(reason_after[rows], reason):
        reason_after = reason_after.copy()
        reason_after[rows] = reason
        _fixed(reason_after)
    return _Filtered(code_after, reason_after, texts)


def _still_known(value: _Scored, touched: Rows, rows: Rows) -> tuple[_Scored, Rows]:
    """Return the scores that are still valid, and the given rows without a valid score."""
    if value.complete and len(rows) == len(value.known):
        return value, touched
    known = value.known
    if len(touched):
        known = known.copy()
        known[touched] = False
    return _Scored(value.scores, known, value.complete and not len(touched)), rows[~known[rows]]


def _scored(before: _Scored | None, n_nodes: int, rows: Rows, given: Int64Array) -> _Scored:
    """Return the scores, updated for the given rows."""
    if len(rows) == n_nodes:
        # The returned array is frozen. A view is copied first, because the plugin may still write to its base array.
        return _Scored(_fixed(given if given.flags.owndata else given.copy()), _every(n_nodes), complete=True)
    if before is None:
        before = _Scored(np.zeros(n_nodes, dtype=np.int64), np.zeros(n_nodes, dtype=np.bool_), complete=False)
    scores = before.scores.copy()
    scores[rows] = given
    if before.complete:
        return _Scored(_fixed(scores), before.known, complete=True)
    known = before.known.copy()
    known[rows] = True
    return _Scored(_fixed(scores), known, bool(known.all()))


_NO_ROWS: Final = np.zeros(0, dtype=np.int64)
