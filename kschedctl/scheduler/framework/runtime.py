"""The framework of one profile: its plugins, and the extension points run as kube-scheduler runs them."""

from collections.abc import Collection, Container, Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar, cast
from weakref import ref

import msgspec
import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Overlay
from kschedctl.common.arrays import Int64Array, Mask, PodIndices, Rows
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import Release
from kschedctl.scheduler.framework.config.profile import Profile
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import Reach
from kschedctl.scheduler.framework.events import (
    EVERYTHING,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    registered,
)
from kschedctl.scheduler.framework.extender import EXTENDER_NAME, Extender, ExtenderError, extender_note
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import (
    MAX_PERMIT_SECONDS,
    BindPlugin,
    FilterPlugin,
    Handle,
    PermitPlugin,
    PlacementFeasiblePlugin,
    PlacementGeneratePlugin,
    PlacementScorePlugin,
    Plugin,
    PluginError,
    PodGroupPostFilterPlugin,
    PodGroupPostFilterResult,
    PostBindPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    ReservePlugin,
)
from kschedctl.scheduler.framework.node_statuses import FilterRun, NodeStatuses
from kschedctl.scheduler.framework.pod_groups import (
    Placement,
    PlacementProgress,
    PodGroupAssignments,
    PodGroupInfo,
    PodGroupTrial,
)
from kschedctl.scheduler.framework.result_cache import CachedResults, ResultCache
from kschedctl.scheduler.framework.status import Code, Rejections, Status
from kschedctl.scheduler.framework.waiting_pods import WaitingPods

P = TypeVar("P", bound=Plugin)
#: The plugin types that can reject a pod.
_REJECTING = (PreEnqueuePlugin, PreFilterPlugin, FilterPlugin, ReservePlugin, PermitPlugin)


class PreFilterOutcome(msgspec.Struct, frozen=True):
    """The combined result of all PreFilter plugins."""

    #: Success, or the reason why the pod cannot be scheduled.
    status: Status
    #: The nodes that all plugins allow; ``None`` for all nodes of the cluster.
    node_names: frozenset[str] | None = None
    #: The plugins that restricted the set of nodes, by name.
    plugins: tuple[str, ...] = ()


class Framework:
    """A profile's plugins over one cluster.

    Args:
        profile: The plugins per extension point, their weights and arguments.
        release: The release whose rules apply.
        scheduler_names: The names of all profiles; by default only the name of this profile.
        waiting_pods: The pods waiting at Permit. All profiles share one map, which outlives the cluster.
        preempting: The pods whose victims are being evicted; shared in the same way.
        extenders: The extenders to call; empty if extenders are not called.
    """

    def __init__(
        self,
        profile: Profile,
        registry: Mapping[str, type[Plugin]],
        cluster: Cluster,
        release: Release,
        scheduler_names: frozenset[str] | None = None,
        waiting_pods: WaitingPods | None = None,
        preempting: set[str] | None = None,
        extenders: Sequence[Extender] = (),
    ) -> None:
        self.profile = profile
        self.cluster = cluster
        self.release = release
        names_of_all = scheduler_names or frozenset({profile.scheduler_name})
        waiting = waiting_pods if waiting_pods is not None else WaitingPods()
        going = preempting if preempting is not None else set()
        self.handle = Handle(cluster, release, ref(self), names_of_all, waiting, going, tuple(extenders))
        names = dict.fromkeys(name for plugins in profile.plugins.values() for name in plugins)
        self._classes = {name: registry[name] for name in names}
        self._order: dict[tuple[ExtensionPoint, type[Plugin]], tuple[str, ...]] = {}
        self._plugins = {name: self._new_plugin(name) for name in names}
        self._cache = ResultCache()
        #: The plugins that register a hint for an event; what they register does not depend on the cluster.
        self._hearing: dict[ClusterEvent, tuple[str, ...]] = {}

    def _new_plugin(self, name: str) -> Plugin:
        return self._classes[name](self.profile.args.get(name), self.handle)

    def moved(self, cluster: Cluster) -> "Framework":
        """Return the framework of the same profile over a cluster derived from this one's.

        Its plugins are created on first use; the result cache is shared.
        """
        new = object.__new__(Framework)
        new.profile, new.release, new.cluster = self.profile, self.release, cluster
        old = self.handle
        new.handle = Handle(
            cluster, self.release, ref(new), old.scheduler_names, old.waiting_pods, old.preempting, old.extenders
        )
        new._classes, new._order, new._plugins, new._cache = self._classes, self._order, {}, self._cache
        new._hearing = self._hearing
        return new

    def without(self, plugins: Container[str]) -> "Framework":
        """Return the framework over the same cluster in which some plugins are at no extension point."""
        new = self.moved(self.cluster)
        points = self.profile.plugins.items()
        kept = {point: tuple(name for name in names if name not in plugins) for point, names in points}
        new.profile, new._order = replace(self.profile, plugins=kept), {}
        return new

    def plugin(self, name: str) -> Plugin:
        """Return a plugin of the profile by name, and create it on first use."""
        found = self._plugins.get(name)
        if found is None:
            found = self._plugins[name] = self._new_plugin(name)
        return found

    def hints_for(self, event: ClusterEvent) -> list[tuple[str, ClusterEventWithHint]]:
        """Return the hints that plugins which can reject a pod register for an event, each with the plugin's name.

        A pod rejected by extenders may be retried after any event.
        """
        names = self._hearing.get(event)
        if names is None:
            rejecting = (name for name, kind in self._classes.items() if issubclass(kind, _REJECTING))
            names = tuple(name for name in rejecting if any(self._hints(name, event)))
            self._hearing[event] = names
        of_extenders = [(EXTENDER_NAME, ClusterEventWithHint(EVERYTHING))] if self.handle.extenders else []
        return [*of_extenders, *((name, each) for name in names for each in self._hints(name, event))]

    def _hints(self, name: str, event: ClusterEvent) -> Iterator[ClusterEventWithHint]:
        """Yield the hints that a plugin registers for an event."""
        plugin = self.plugin(name)
        assert isinstance(plugin, _REJECTING)
        events = plugin.events_to_register()
        yield from (each for each in events if each.event.matches(event))
        hears_of = ActionType(0)
        for each in events:
            if each.event.resource is EventResource.NODE:
                hears_of |= each.event.action
        if (
            self.release.queue.taints_stand_for_new_nodes
            and hears_of & ActionType.ADD
            and not hears_of & ActionType.UPDATE_NODE_TAINT
            and (taints := registered(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)).event.matches(event)
        ):
            yield taints

    def plugins(self, point: ExtensionPoint, kind: type[P]) -> list[P]:
        """Return the plugins of an extension point in running order."""
        return [cast("P", self.plugin(name)) for name in self.plugin_names(point, kind)]

    def plugin_class(self, name: str) -> type[Plugin]:
        """Return the class of a plugin of the profile."""
        return self._classes[name]

    def plugin_names(self, point: ExtensionPoint, kind: type[Plugin]) -> tuple[str, ...]:
        """Return the names of the plugins of an extension point in running order."""
        found = self._order.get((point, kind))
        if found is None:
            names = self.profile.plugins.get(point, ())
            found = tuple(name for name in names if issubclass(self._classes[name], kind))
            self._order[point, kind] = found
        return found

    def new_state(self, pod: Pod) -> CycleState:
        """Return the state of a new cycle for a pod, containing the cached results for its spec."""
        state = CycleState()
        state.write(self._cache.answers(pod, self))
        return state

    def run_pre_enqueue(self, pod: Pod) -> Status:
        """Run the PreEnqueue plugins up to the first rejection."""
        for plugin in self.plugins(ExtensionPoint.PRE_ENQUEUE, PreEnqueuePlugin):
            status = plugin.pre_enqueue(pod)
            if status.code is not Code.SUCCESS:
                return Status(status.code, status.reasons, plugin.name)
        return Status()

    def run_pre_filter(self, state: CycleState, pod: Pod) -> PreFilterOutcome:
        """Run PreFilter.

        Raises PluginError if a plugin ends the cycle with an error.
        """
        node_names: frozenset[str] | None = None
        narrowing: set[str] = set()
        rejection = Status()
        for name in self.plugin_names(ExtensionPoint.PRE_FILTER, PreFilterPlugin):
            result = self._pre_filter(name, state, pod)
            code = result.status.code
            if code is Code.SKIP:
                state.skip_filter_plugins.add(name)
            elif code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return PreFilterOutcome(Status(code, result.status.reasons, name))
            elif code is Code.UNSCHEDULABLE:
                # Preemption may help, so the others still prepare their state.
                rejection = Status(code, result.status.reasons, name)
            elif code is not Code.SUCCESS:
                raise PluginError(f'running PreFilter plugin "{name}": {result.status.message}')
            elif result.node_names is not None:
                narrowing.add(name)
                node_names = result.node_names if node_names is None else node_names & result.node_names
                if not node_names:
                    names = sorted(narrowing)
                    several = f"(s) [{' '.join(names)}] simultaneously"
                    text = f"node(s) didn't satisfy plugin{f' {names[0]}' if len(names) == 1 else several}"
                    status = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,))
                    return PreFilterOutcome(status, node_names, tuple(names))
        if rejection.code is not Code.SUCCESS:
            return PreFilterOutcome(rejection, None, tuple(sorted(narrowing)))
        return PreFilterOutcome(Status(), node_names, tuple(sorted(narrowing)))

    def run_filters(self, state: CycleState, pod: Pod, nodes: Overlay) -> FilterRun:
        """Run every filter that PreFilter did not skip over all worlds, even those that an earlier filter rejected."""
        rejections: dict[str, Rejections] = {}
        kept = state.read(CachedResults) if nodes.is_everywhere(self.cluster.nodes) else None
        for name in self.plugin_names(ExtensionPoint.FILTER, FilterPlugin):
            if name not in state.skip_filter_plugins:
                ask = partial(self._filter, name, state, pod)
                rejections[name] = ask(nodes) if kept is None else kept.filter(name, state, pod, nodes, ask)
        return FilterRun.of(nodes.rows, rejections)

    def nominated_pods(self, pod: Pod) -> PodIndices:
        """Return the pods that count on their nominated node while ``pod`` is filtered.

        They are pending pods of this scheduler with equal or higher priority; in releases without
        ``gated_pods_keep_nomination`` only those that pass PreEnqueue. Returns indices into ``Cluster.pods``.
        """
        keep_nomination = self.release.gated_pods_keep_nomination
        pods, least, own = self.cluster.pods, pod.spec.priority or 0, pod.metadata

        def counts(index: int) -> bool:
            record = pods.records[index]
            metadata = record.metadata
            return (
                record.priority >= least
                and record.spec.scheduler_name in self.handle.scheduler_names
                and (metadata.uid, metadata.namespace, metadata.name) != (own.uid, own.namespace, own.name)
                and (keep_nomination or self.run_pre_enqueue(pods.pod(index)).code is Code.SUCCESS)
            )

        return np.array(list(filter(counts, pods.nominated.tolist())), dtype=np.int64)

    def overlay_with_nominated_pods(self, pod: Pod, rows: Rows) -> Overlay:
        """Return the worlds of the given nodes, with the nominated pods that count while ``pod`` is filtered.

        Args:
            rows: The nodes to look at; distinct.
        """
        return self.cluster.overlay(rows, self.nominated_pods(pod))

    def run_filters_with_nominated_pods(
        self, state: CycleState, pod: Pod, nodes: Overlay, absent: Status | None = None
    ) -> NodeStatuses:
        """Run the filters over all worlds, and again with nominated pods where there are any.

        A pod must fit both without the nominated pods and with them.

        Args:
            nodes: The worlds, from ``overlay_with_nominated_pods``.
            absent: The status of all other nodes; by default UnschedulableAndUnresolvable without reasons.
        """
        return NodeStatuses(
            len(self.cluster.nodes),
            absent or Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
            self.run_filters(state, pod, nodes),
            None if nodes.nominated is None else self.run_filters(state, pod, nodes.nominated.overlay),
        )

    def passing_with_nominated_pods(self, state: CycleState, pod: Pod, nodes: Overlay) -> Mask:
        """Return where the pod passes all filters that depend on pods, both without and with nominated pods.

        It is a faster form of ``run_filters_with_nominated_pods`` for worlds that differ only in their pods from worlds
        that were already filtered.
        """
        mask = self.passing(state, pod, nodes)
        if nodes.nominated is not None:
            mask[nodes.nominated.originals] &= self.passing(state, pod, nodes.nominated.overlay)
        return mask

    def passing(self, state: CycleState, pod: Pod, nodes: Overlay) -> Mask:
        """Return where the pod passes every filter that depends on the pods of a node: bool, shape (n_worlds,)."""
        mask = np.ones(len(nodes), dtype=np.bool_)
        for plugin in self.plugins(ExtensionPoint.FILTER, FilterPlugin):
            reads_pods = plugin.reads is None or plugin.reads.pods is not Reach.NOTHING
            if reads_pods and plugin.name not in state.skip_filter_plugins:
                mask &= ~self._filter(plugin.name, state, pod, nodes).rejected
        return mask

    def status_on(self, pod: Pod, node: str) -> Status:
        """Return the status of one node for a pod, from PreFilter on, with the nominated pods that count there."""
        row = self.cluster.nodes.row.get(node)
        if row is None:
            return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
        state = CycleState()
        try:
            outcome = self.run_pre_filter(state, pod)
        except PluginError as error:
            return Status(Code.ERROR, (str(error),))
        if outcome.status.code is not Code.SUCCESS:
            return outcome.status
        if outcome.node_names is not None and node not in outcome.node_names:
            return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
        worlds = self.overlay_with_nominated_pods(pod, np.array([row], dtype=np.int64))
        return self.run_filters_with_nominated_pods(state, pod, worlds).status(row)

    def status_without(self, pod: Pod, node: str, removed: Collection[int]) -> Status:
        """Return the status of one node for a pod if other pods were gone, as indices into ``Cluster.pods``."""
        return self.moved(self.cluster.with_pods(removed=removed)).status_on(pod, node)

    def run_post_filter(self, state: CycleState, pod: Pod, statuses: NodeStatuses) -> PostFilterResult | None:
        """Run PostFilter; return ``None`` if the profile has no PostFilter plugin."""
        plugins = self.plugins(ExtensionPoint.POST_FILTER, PostFilterPlugin)
        if not plugins:
            return None
        reasons: list[str] = []
        rejector = ""
        clears = False
        for plugin in plugins:
            result = plugin.post_filter(state, pod, statuses)
            code = result.status.code
            if code is Code.SUCCESS:
                return result
            if code is not Code.UNSCHEDULABLE:
                status = Status(code, result.status.reasons, plugin.name)
                return PostFilterResult(status, result.nominated, code.rejected and result.clears_nomination)
            clears |= result.clears_nomination
            reasons += result.status.reasons
            rejector = rejector or plugin.name
        return PostFilterResult(Status(Code.UNSCHEDULABLE, tuple(reasons), rejector), (), clears)

    def run_placement_generate(self, group: PodGroupInfo, within: Placement) -> tuple[Placement, ...]:
        """Return the placements of a group; all nodes within another placement as one if no plugin divides them.

        Raises PluginError if the attempt ends with an error.
        """
        plugins = self.plugins(ExtensionPoint.PLACEMENT_GENERATE, PlacementGeneratePlugin)
        return plugins[0].generate_placements(group, within) if plugins else (within,)

    def run_placement_feasible(self, group: PodGroupInfo, progress: PlacementProgress) -> Status:
        """Run the PlacementFeasible plugins up to the first that rejects the group; Wait if one of them waits."""
        combined = Status()
        for plugin in self.plugins(ExtensionPoint.PLACEMENT_FEASIBLE, PlacementFeasiblePlugin):
            status, name = plugin.placement_feasible(group, progress), plugin.name
            if status.code is Code.UNSCHEDULABLE:
                return Status(status.code, status.reasons, name)
            if status.code is Code.WAIT:
                combined = Status(status.code, status.reasons, name)
            elif status.code is not Code.SUCCESS:
                return Status(Code.ERROR, (f"running PlacementFeasible plugin: {status.message}",), name)
        return combined

    def run_placement_score(self, group: PodGroupInfo, assignments: Sequence[PodGroupAssignments]) -> Int64Array:
        """Return the total score of each placement: int64, shape (n_placements,).

        Raises PluginError if a plugin ends the attempt with an error.
        """
        total = np.zeros(len(assignments), dtype=np.int64)
        for plugin in self.plugins(ExtensionPoint.PLACEMENT_SCORE, PlacementScorePlugin):
            scores = np.array([plugin.score_placement(group, each) for each in assignments], dtype=np.int64)
            total += plugin.normalize_placement_score(group, scores) * self.profile.placement_weights[plugin.name]
        return total

    def run_pod_group_post_filter(self, group: PodGroupInfo, trial: PodGroupTrial) -> PodGroupPostFilterResult:
        """Run PodGroupPostFilter up to the first plugin that succeeds, or that rules out any success."""
        reasons: list[str] = []
        for plugin in self.plugins(ExtensionPoint.POD_GROUP_POST_FILTER, PodGroupPostFilterPlugin):
            result = plugin.pod_group_post_filter(group, trial)
            code = result.status.code
            if code in (Code.SUCCESS, Code.UNSCHEDULABLE_AND_UNRESOLVABLE):
                return result
            if code is not Code.UNSCHEDULABLE:
                text = f'error in "{plugin.name}" PodGroupPostFilter plugins: {result.status.message}'
                return PodGroupPostFilterResult(Status(Code.ERROR, (text,), plugin.name))
            reasons += result.status.reasons
        return PodGroupPostFilterResult(Status(Code.UNSCHEDULABLE, tuple(reasons)))

    @property
    def default_preemption(self) -> PodGroupPostFilterPlugin | None:
        """The plugin that preempts for groups in releases without PodGroupPostFilter; ``None`` if not configured."""
        plugin = self.plugin("DefaultPreemption") if "DefaultPreemption" in self._classes else None
        return plugin if isinstance(plugin, PodGroupPostFilterPlugin) else None

    def _pre_filter(self, name: str, state: CycleState, pod: Pod) -> PreFilterResult:
        try:
            kept = state.read(CachedResults)
            if kept is None or self._classes[name].prepares_from is None:
                return self._ask_pre_filter(name, state, pod)
            return kept.pre_filter(name, state, pod, self._ask_pre_filter)
        except PluginError as error:
            return PreFilterResult(Status(Code.ERROR, (str(error),)))

    def _ask_pre_filter(self, name: str, state: CycleState, pod: Pod) -> PreFilterResult:
        return cast("PreFilterPlugin", self.plugin(name)).pre_filter(state, pod)

    def _filter(self, name: str, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        try:
            return cast("FilterPlugin", self.plugin(name)).filter(state, pod, nodes)
        except PluginError as error:
            return Rejections.everywhere(len(nodes), Status(Code.ERROR, (str(error),)))


# The extension points that follow the choice of a node: Reserve, Permit, PreBind, Bind and PostBind.


def run_reserve(framework: Framework, state: CycleState, pod: Pod, node_name: str) -> Status:
    """Reserve resources for the pod on its node.

    If a plugin fails, all Reserve plugins undo their reservations in reverse order.
    """
    for plugin in framework.plugins(ExtensionPoint.RESERVE, ReservePlugin):
        status = plugin.reserve(state, pod, node_name)
        if status.code is not Code.SUCCESS:
            run_unreserve(framework, state, pod, node_name)
            return _failed("Reserve", plugin, status)
    return Status()


def run_unreserve(framework: Framework, state: CycleState, pod: Pod, node_name: str) -> None:
    """Undo the reservations of all Reserve plugins, in reverse order."""
    for plugin in reversed(framework.plugins(ExtensionPoint.RESERVE, ReservePlugin)):
        plugin.unreserve(state, pod, node_name)


def run_permit(framework: Framework, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, Mapping[str, float]]:
    """Run the Permit plugins.

    Returns: status: success, Wait, or the first rejection; waits: for each plugin that makes the pod wait, the
        maximum waiting time in seconds (at most ``MAX_PERMIT_SECONDS``)
    """
    waits: dict[str, float] = {}
    reasons: tuple[str, ...] = ()
    for plugin in framework.plugins(ExtensionPoint.PERMIT, PermitPlugin):
        status, seconds = plugin.permit(state, pod, node_name)
        if status.code is Code.WAIT:
            waits[plugin.name] = min(seconds, MAX_PERMIT_SECONDS)
            reasons = status.reasons
        elif status.code is not Code.SUCCESS:
            return _failed("Permit", plugin, status), {}
    if waits:
        return Status(Code.WAIT, (*reasons, "one or more plugins asked to wait and no plugin rejected pod")), waits
    return Status(), waits


def run_pre_bind(framework: Framework, state: CycleState, pod: Pod, node_name: str) -> Status:
    """Run the PreBind plugins up to the first failure."""
    for plugin in framework.plugins(ExtensionPoint.PRE_BIND, PreBindPlugin):
        status = plugin.pre_bind(state, pod, node_name)
        if status.code is not Code.SUCCESS:
            return _failed("PreBind", plugin, status)
    return Status()


def run_bind(framework: Framework, state: CycleState, pod: Pod, node_name: str) -> Status:
    """Bind with the interested extender, else with the first Bind plugin that does not skip, then run PostBind."""
    status = _extenders_binding(framework, state, pod, node_name)
    if status is None:
        status = _bind(framework, state, pod, node_name)
    if status.code is Code.SUCCESS:
        for listener in framework.plugins(ExtensionPoint.POST_BIND, PostBindPlugin):
            listener.post_bind(state, pod, node_name)
    return status


def _extenders_binding(framework: Framework, state: CycleState, pod: Pod, node_name: str) -> Status | None:
    """Bind with an extender (upstream ``extendersBinding``); return ``None`` if no extender binds the pod."""
    for extender in framework.handle.extenders:
        if not extender.config.bind_verb or not extender.is_interested(pod):
            continue
        try:
            if extender.binds:
                extender.bind(pod, node_name)
        except ExtenderError as error:
            if not extender.config.ignorable:
                return Status(Code.ERROR, (str(error),))
            state.not_modelled.append(extender_note(extender, f"it is ignorable and its bind call failed: {error}"))
            continue
        return Status()
    return None


def _bind(framework: Framework, state: CycleState, pod: Pod, node_name: str) -> Status:
    for plugin in framework.plugins(ExtensionPoint.BIND, BindPlugin):
        status = plugin.bind(state, pod, node_name)
        if status.code is Code.SKIP:
            continue
        if status.code is not Code.SUCCESS:
            return _failed("Bind", plugin, status)
        return Status()
    return Status(Code.SKIP)


def _failed(point: str, plugin: Plugin, status: Status) -> Status:
    """Return a rejection with the plugin's name added, and any other status as an error of the extension point."""
    if status.code.rejected:
        return Status(status.code, status.reasons, plugin.name)
    return Status(Code.ERROR, (f'running {point} plugin "{plugin.name}": {status.message}',), plugin.name)


# Pod signatures: the parts of a pod that plugin results depend on, in a comparable form (upstream ``SignPod``).

#: The extension points whose plugins must all sign a pod; otherwise the pod has no signature.
_POINTS = (ExtensionPoint.PRE_FILTER, ExtensionPoint.FILTER, ExtensionPoint.PRE_SCORE, ExtensionPoint.SCORE)

_encode = msgspec.json.Encoder(order="deterministic").encode


def sign_pod(framework: Framework, pod: Pod) -> Hashable | None:
    """Return the signature of a pod under a profile; ``None`` if a plugin cannot sign the pod."""
    names = dict.fromkeys(name for point in _POINTS for name in framework.profile.plugins.get(point, ()))
    fragments = []
    for name in names:
        fragment = framework.plugin(name).sign_pod(pod)
        if fragment is None:
            return None
        fragments.append(fragment)
    return pod.spec.scheduler_name, *fragments


def encoded(part: object) -> bytes:
    """Return a part of a pod in a comparable form."""
    return _encode(part)


def signed_volumes(pod: Pod) -> bytes:
    """Return the part of a pod that volume plugins depend on: its volumes without their names, sorted."""
    volumes = (replace(volume, name="") for volume in pod.spec.volumes)
    return b"\n".join(sorted(encoded(volume) for volume in volumes))


def signed_tolerations(pod: Pod) -> bytes:
    """Return the part of a pod that taint plugins depend on: its tolerations, sorted by key and value."""
    return encoded(sorted(pod.spec.tolerations, key=lambda toleration: (toleration.key, toleration.value)))
