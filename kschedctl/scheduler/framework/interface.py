"""The extension points as base classes. A plugin derives from the base class of each extension point it implements.

A plugin processes all nodes at once: ``filter`` gets an ``Overlay`` and returns ``Rejections``, ``score`` gets node
rows and returns an array. An overlay has one world per node: a hypothetical state of the cluster in which only the pods
of that node may differ from the snapshot. Plugins that handle one node at a time derive from the classes in
``kschedctl.scheduler.framework.node_by_node``.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar, Final, Protocol, TypeVar
from weakref import ReferenceType

import msgspec

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Overlay
from kschedctl.cluster.slots import MovedPods
from kschedctl.common.arrays import Int64Array, Mask, Rows
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import Release
from kschedctl.objects.resources import RequestRules
from kschedctl.scheduler.framework.config.profile import Profile
from kschedctl.scheduler.framework.config.types import ConfigStruct
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import Dependencies, Reach
from kschedctl.scheduler.framework.events import EVERYTHING, ClusterEventWithHint, EventResource
from kschedctl.scheduler.framework.explanation import Arithmetic, CountedDomains, FilterCheck, ScaledToHighest
from kschedctl.scheduler.framework.extender import Extender
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.node_statuses import NodeStatuses
from kschedctl.scheduler.framework.pod_groups import (
    Placement,
    PlacementProgress,
    PodGroupAssignments,
    PodGroupInfo,
    PodGroupTrial,
)
from kschedctl.scheduler.framework.remedy import Remedy, RemedyContext
from kschedctl.scheduler.framework.status import SUCCESS, Rejections, Status
from kschedctl.scheduler.framework.waiting_pods import WaitingPod, WaitingPods

T = TypeVar("T")

MAX_NODE_SCORE: Final = 100
#: The maximum time that a Permit plugin can make a pod wait, in seconds.
MAX_PERMIT_SECONDS: Final = 15 * 60.0


@dataclass(frozen=True, slots=True)
class Handle:
    """The framework state that a plugin may use.

    Attributes
    ----------
    release : Release
        The release whose rules apply.
    framework_ref : weakref.ReferenceType of PluginsRunner
        The framework the plugin runs in. It is a weak reference because the framework owns its plugins: a cycle would
        keep the columns of a derived cluster in memory until the garbage collector runs.
    scheduler_names : frozenset of str
        The names of all profiles.
    waiting_pods : WaitingPods
        The pods of all profiles that are waiting at Permit.
    preempting : set of str
        The pods, by ``uid_of``, with victims that are still to be evicted.
    extenders : tuple of Extender
        The extenders to call, in order; empty if extenders are not called.
    request_rules : RequestRules
        The release's rules for counting the requests of pods.
    """

    cluster: Cluster
    release: Release
    framework_ref: "ReferenceType[PluginsRunner]"
    scheduler_names: frozenset[str]
    waiting_pods: WaitingPods = field(default_factory=WaitingPods)
    preempting: set[str] = field(default_factory=set)
    extenders: tuple[Extender, ...] = ()
    request_rules: RequestRules = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "request_rules", RequestRules.of(self.release))

    @property
    def framework(self) -> "PluginsRunner":
        """The framework the plugin runs in, for plugins that run others (preemption)."""
        framework = self.framework_ref()
        assert framework is not None, "the framework of the plugin is gone"
        return framework

    def pods_that_wake(self, kind: EventResource) -> EventResource:
        """Return the event resource to register for a kind of pods.

        It is ``kind`` itself, or ``POD`` (all pod events) in releases with ``queue.unscheduled_pods_wake``.
        """
        return EventResource.POD if self.release.queue.unscheduled_pods_wake else kind

    def iterate_over_waiting_pods(self) -> Iterator[WaitingPod]:
        """Iterate over the pods waiting at Permit, in the order in which they began to wait."""
        return iter(self.waiting_pods)

    def get_waiting_pod(self, uid: str) -> WaitingPod | None:
        """Return the waiting pod with the given uid; a pod without a uid is found under its substitute (``uid_of``)."""
        return self.waiting_pods.get(uid)

    def reject_waiting_pod(self, uid: str) -> bool:
        """Reject a waiting pod as removed, and report whether the rejection ended its waiting."""
        return self.waiting_pods.reject(uid)


class PluginsRunner(Protocol):
    """The plugins of a profile over one cluster, for plugins and the result cache (upstream ``PluginsRunner``)."""

    profile: Profile
    cluster: Cluster
    handle: Handle

    def plugin(self, name: str) -> "Plugin":
        """Return a plugin of the profile by its name."""

    def plugin_class(self, name: str) -> "type[Plugin]":
        """Return the class of a plugin of the profile."""

    def overlay_with_nominated_pods(self, pod: Pod, rows: Rows) -> Overlay:
        """Return the worlds of the given nodes, with the nominated pods that count while ``pod`` is filtered."""

    def run_filters_with_nominated_pods(
        self, state: CycleState, pod: Pod, nodes: Overlay, absent: Status | None = None
    ) -> NodeStatuses:
        """Run the filters over all worlds, and again with nominated pods where there are any."""

    def passing_with_nominated_pods(self, state: CycleState, pod: Pod, nodes: Overlay) -> Mask:
        """Return where the pod passes all filters that depend on pods: bool, shape (n_worlds,)."""

    def status_without(self, pod: Pod, node: str, removed: Collection[int]) -> Status:
        """Return the status of one node for a pod if other pods, indices into ``Cluster.pods``, were gone."""


class PlacedCopies(ABC):
    """A plugin's results for a pod on all nodes, updated for every copy of the pod that is placed on a node.

    They are the results of a scheduling cycle in a cluster that differs in these copies and in pods of ``follow`` only.

    Attributes
    ----------
    rejected : ndarray of bool, shape (n_nodes,)
        The nodes that Filter rejects. It is replaced by another array when it changes.
    """

    rejected: Mask

    @abstractmethod
    def place(self, row: int) -> None:
        """Place one more copy on a node that Filter does not reject."""

    def follow(self, cluster: Cluster, moved: MovedPods) -> bool:
        """Take in pods that came to nodes or left them; by default return False, so that a scheduling cycle decides.

        Parameters
        ----------
        cluster : Cluster
            The cluster with these pods. Its nodes, and its objects of all kinds that the plugin reads, are the same.
        moved : MovedPods
            The pods that came and those that left since the results were those of another cluster.
        """
        return False

    def scores(self, rows: Rows) -> Int64Array | None:
        """Return the scores of the feasible nodes, normalised; by default ``None``: the plugin never scores the pod.

        A pod whose scores are equal for as long as no copy is placed may be skipped by PreScore; here it has scores.
        """
        return None


class Plugin(ABC):
    """Base class of all plugins.

    Parameters
    ----------
    args : msgspec.Struct or None
        The plugin's arguments, defaults filled in; ``None`` if it has none.
    handle : Handle
        The framework state the plugin may use.

    Attributes
    ----------
    args_type : type of ConfigStruct, optional
        The type that an out-of-tree plugin's arguments are decoded to, strictly and with defaults. Without one, the
        plugin gets its arguments as written (``RawArgs``).
    reads : Dependencies or None
        The dependencies of the Filter and Score results for a node, including those of the data that PreFilter and
        PreScore prepared. ``None``, the default, disables caching: the plugin runs on every node in every cycle.
    prepares_from : Dependencies or None
        The dependencies of PreFilter and PreScore. Their results are about all nodes, so ``Reach.NODE`` means any node.
    """

    name: ClassVar[str]
    args_type: ClassVar[type[ConfigStruct] | None] = None
    reads: ClassVar[Dependencies | None] = None
    prepares_from: ClassVar[Dependencies | None] = None

    def __init__(self, args: msgspec.Struct | None, handle: Handle) -> None:
        self.handle = handle

    def own_part(self, pod: Pod) -> Hashable:
        """Return the part of the pod that the results depend on, besides namespace and spec; ``None`` if none.

        Called only if ``reads`` or ``prepares_from`` is declared. The result's being ``None`` or not must depend only
        on namespace, spec and objects of ``reads.kinds``.
        """
        return None

    def reach_of_copies(self, pod: Pod) -> Reach:
        """Return the extent to which results for copies of a pod change when one of the copies is placed on a node.

        The results are those of PreFilter, Filter, PreScore and Score, and all that the plugin does from Reserve to
        PostBind. Copies differ in name, uid and times only. ``Reach.NOTHING``: no result changes, and a copy that is
        bound is nothing to act upon. ``Reach.NODE``: the results of Filter and Score for that node may change.
        ``Reach.CLUSTER``: anything may change, for example because the plugin declares no dependencies.
        """
        return self.reach_of_pods(pod)

    def reach_of_pods(self, pod: Pod) -> Reach:
        """Return the extent to which results for copies of a pod change when any pod comes to a node or leaves it.

        Results and reach are meant as in ``reach_of_copies``. Override this method, and the other one only if copies
        of the pod reach less far than other pods.
        """
        if self.reads is None or isinstance(self, _BINDING_CYCLE) or self.own_part(pod) is not None:
            return Reach.CLUSTER
        if isinstance(self, PreFilterPlugin | PreScorePlugin) and (
            self.prepares_from is None or self.prepares_from.pods is not Reach.NOTHING
        ):
            return Reach.CLUSTER
        return self.reads.pods

    def placed_copies(self, state: CycleState, pod: Pod) -> PlacedCopies | None:
        """Return the plugin's results for copies of a pod, to be updated for every copy that is placed.

        Called after a scheduling cycle for the pod, if ``reach_of_copies`` or ``reach_of_pods`` is ``Reach.CLUSTER``. A
        plugin that can tell how pods on nodes change its results for all nodes saves copies a cycle of their own.

        Parameters
        ----------
        state : CycleState
            The state of the cycle. Do not modify.
        pod : Pod
            The pod.

        Returns
        -------
        PlacedCopies or None
            ``None``, the default, if every copy needs a cycle: the results also depend on something else than the
            nodes of copies, or the plugin acts upon a copy between Reserve and PostBind.
        """
        return None

    @classmethod
    def exists_in(cls, release: Release) -> bool:
        """Report whether a release has the plugin; by default every release does."""
        return True

    @classmethod
    def extension_points(cls, release: Release) -> frozenset[ExtensionPoint]:
        """Return the extension points of the plugin's base classes, minus those that are absent in the release."""
        points = frozenset(point for point, base in EXTENSION_POINT_CLASSES.items() if issubclass(cls, base))
        return frozenset(point for point in points if (cls.name, point) not in release.absent_points)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """Return the events after which a pod rejected by this plugin may be retried; by default all events."""
        return (ClusterEventWithHint(EVERYTHING),)

    def sign_pod(self, pod: Pod) -> Hashable | None:
        """Return the part of the pod that this plugin's results depend on (upstream ``SignPlugin``).

        Consecutive pods with the same signature may be scheduled together (feature gate OpportunisticBatching).

        Returns
        -------
        hashable or None
            ``None``, the default, if the results also depend on something else.
        """
        return None

    def remedies(self, context: RemedyContext, status: Status) -> Iterable[Remedy]:
        """Yield changes that could resolve the rejection of a pod before Filter; by default none.

        A rejection by Filter is resolved by the operands of its reasons (``Operands.remedies``).

        Parameters
        ----------
        context : RemedyContext
            The pod and the cluster.
        status : Status
            The PreEnqueue or PreFilter status; Success if PreFilter restricted the set of nodes.
        """
        return ()


class PreEnqueuePlugin(Plugin):
    """A plugin that decides whether a pod may enter the queue."""

    #: True if the status may depend on pods of the cluster that are not in the pod's own group.
    counts_pods: ClassVar[bool] = True

    @abstractmethod
    def pre_enqueue(self, pod: Pod) -> Status:
        """Return Success if the pod may enter the active queue."""


class QueueSortPlugin(Plugin):
    """A plugin that orders the scheduling queue."""

    @abstractmethod
    def sort_key(self, pod: Pod, queued_at: datetime) -> tuple[object, ...]:
        """Return the pod's sort key; pods with smaller keys are scheduled first."""


class PreFilterResult(msgspec.Struct, frozen=True):
    """The result of a PreFilter plugin.

    Attributes
    ----------
    status : Status
        Success, Skip, or a rejection of the pod on all nodes.
    node_names : frozenset of str, optional
        The only nodes to consider; ``None`` for all.
    """

    status: Status = SUCCESS
    node_names: frozenset[str] | None = None


class PreFilterPlugin(Plugin):
    """A plugin that prepares filtering for a pod.

    Values that it sums over pods must be linear in the pods, for ``Overlay.delta``.
    """

    @abstractmethod
    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        """Prepare filtering, and write the data that Filter needs to the state."""


class FilterPlugin(Plugin):
    """A plugin that rejects nodes that cannot run a pod.

    A plugin whose ``reads`` exclude pods is not run again in preemption's dry run.
    """

    @abstractmethod
    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        """Filter every world of the overlay."""

    def explain_filter(self, state: CycleState, pod: Pod, row: int) -> tuple[FilterCheck, ...]:
        """Return the comparisons that the filter makes on a node, including those that pass; by default none.

        Called only when the node is explained. Nominated pods are not counted.
        """
        return ()

    def counted_domains(self, state: CycleState, pod: Pod) -> tuple[CountedDomains, ...]:
        """Return the pods that the filter counts by topology domain, one entry per constraint of the pod.

        Called after Filter, only for an answer that shows the constraints; by default there are none.
        """
        return ()

    def losses_can_hurt(self, state: CycleState, pod: Pod) -> bool:
        """Report whether losing other nodes and their pods can make a node fail that passes. Called after Filter.

        By default, True if the result for a node depends on other nodes or on their pods, or if ``reads`` is not
        declared.
        """
        return self.reads is None or Reach.CLUSTER in (self.reads.pods, self.reads.nodes)

    def alike_when_lost(self, state: CycleState, pod: Pod) -> Iterator[Int64Array]:
        """Yield arrays that distinguish nodes by the effect of losing them and their pods. Called after Filter.

        Two nodes with equal numbers in all arrays, int64, shape (n_nodes,), are interchangeable: the results for all
        other nodes are the same whichever of the two is lost, and the results for the two nodes are equal. Called only
        for a plugin whose result for a node depends on other nodes; by default every node is distinct.
        """
        yield self.handle.cluster.nodes.rows


class PostFilterResult(msgspec.Struct, frozen=True):
    """The result of a PostFilter plugin.

    Attributes
    ----------
    status : Status
        Success if the plugin made the pod schedulable.
    nominated : tuple of str
        The possible nominated nodes; several if the choice among them is random.
    clears_nomination : bool
        True if the pod's existing nomination is removed when there is no new one.
    """

    status: Status
    nominated: tuple[str, ...] = ()
    clears_nomination: bool = False


class PostFilterPlugin(Plugin):
    """A plugin that tries to make a pod schedulable that fits on no node."""

    @abstractmethod
    def post_filter(self, state: CycleState, pod: Pod, statuses: NodeStatuses) -> PostFilterResult:
        """Try to make the pod schedulable, given the status of each node."""


class PreScorePlugin(Plugin):
    """A plugin that prepares scoring over all feasible nodes."""

    @abstractmethod
    def pre_score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Status:
        """Prepare scoring; return Skip if there is nothing to score."""


class ScorePlugin(Plugin):
    """A plugin that scores feasible nodes."""

    @abstractmethod
    def score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Int64Array:
        """Return a raw score per row: int64, shape (n_rows,)."""

    def normalize_score(self, state: CycleState, pod: Pod, scores: Int64Array) -> Int64Array:
        """Scale raw scores to 0..100: int64, shape (n_rows,). By default, return them unchanged.

        If ``reads`` is declared, the result must depend on the scores alone.
        """
        return scores

    def depends_on_feasible_nodes(self, state: CycleState, pod: Pod) -> bool:
        """Report whether the raw score of a node depends on which other nodes are feasible. Called after PreScore.

        By default, True unless the dependencies of the results are declared, which the other feasible nodes are not
        part of.
        """
        return self.reads is None or (isinstance(self, PreScorePlugin) and self.prepares_from is None)

    def explain_score(self, state: CycleState, pod: Pod, row: int) -> Arithmetic | None:
        """Return the arithmetic of a node's raw score; by default ``None``. Called only when the node is explained."""
        return None

    def explain_normalize_score(
        self, state: CycleState, pod: Pod, scores: Int64Array, position: int
    ) -> Arithmetic | None:
        """Return the arithmetic of normalising one of the raw scores; by default ``None``."""
        return None


class ReservePlugin(Plugin):
    """A plugin that reserves resources for a pod on its node, and releases them if a later step fails."""

    @abstractmethod
    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Reserve resources for the pod on the node."""

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Release the reserved resources; must not fail."""


class PermitPlugin(Plugin):
    """A plugin that approves, rejects or delays the binding of a pod."""

    @abstractmethod
    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        """Return Success, a rejection, or Wait with the maximum waiting time in seconds."""


class PreBindPlugin(Plugin):
    """A plugin that does the work that must precede the binding of a pod."""

    @abstractmethod
    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Prepare the binding."""


class BindPlugin(Plugin):
    """A plugin that binds a pod to its node."""

    @abstractmethod
    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Bind the pod, or return Skip to leave it to the next plugin."""


class PostBindPlugin(Plugin):
    """A plugin that is notified of bindings."""

    @abstractmethod
    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Handle the notification of a binding."""


class PlacementGeneratePlugin(Plugin):
    """A plugin that divides the nodes into placements for a pod group."""

    @abstractmethod
    def generate_placements(self, group: PodGroupInfo, within: Placement) -> tuple[Placement, ...]:
        """Return the placements to try, sorted by name: kube-scheduler tries them in a random order.

        Parameters
        ----------
        group : PodGroupInfo
            The group, or a group of its tree.
        within : Placement
            All nodes; for a group below another one the placement in which that is tried.

        Raises
        ------
        PluginError
            If the attempt ends with an error.
        """


class PlacementFeasiblePlugin(Plugin):
    """A plugin that decides whether a pod group succeeds with the members that found a node so far.

    Until 1.37 configurations have no field for this extension point, and every such plugin of a profile runs.
    """

    @abstractmethod
    def placement_feasible(self, group: PodGroupInfo, progress: PlacementProgress) -> Status:
        """Return Success, Wait while more members may be enough, or Unschedulable once they cannot.

        ``progress`` counts the members that found a node in this attempt. The plugin's cluster may be without the last
        ones of these.
        """


class PlacementScorePlugin(Plugin):
    """A plugin that scores the placements in which a pod group succeeds."""

    @abstractmethod
    def score_placement(self, group: PodGroupInfo, assignments: PodGroupAssignments) -> int:
        """Return the score of a placement."""

    def normalize_placement_score(self, group: PodGroupInfo, scores: Int64Array) -> Int64Array:
        """Scale the scores to 0..100: int64, shape (n_placements,). By default, return them unchanged."""
        return scores


class PodGroupPostFilterResult(msgspec.Struct, frozen=True):
    """The result of a PodGroupPostFilter plugin.

    Attributes
    ----------
    status : Status
        Success if the plugin made the group schedulable.
    nominated : mapping of str to str
        The nominated node of members, by ``namespace/name``.
    victims : tuple of int
        The pods to evict, as indices into ``Cluster.pods``, the most important first.
    """

    status: Status
    nominated: Mapping[str, str] = msgspec.field(default_factory=dict)
    victims: tuple[int, ...] = ()


class PodGroupPostFilterPlugin(Plugin):
    """A plugin that tries to make a pod group schedulable that does not fit."""

    @abstractmethod
    def pod_group_post_filter(self, group: PodGroupInfo, trial: PodGroupTrial) -> PodGroupPostFilterResult:
        """Try to make the group schedulable."""


#: The plugins that act on the pod once its node is chosen.
_BINDING_CYCLE: Final = (ReservePlugin, PermitPlugin, PreBindPlugin, BindPlugin, PostBindPlugin)
EXTENSION_POINT_CLASSES: Final[Mapping[ExtensionPoint, type[Plugin]]] = {
    ExtensionPoint.PRE_ENQUEUE: PreEnqueuePlugin,
    ExtensionPoint.QUEUE_SORT: QueueSortPlugin,
    ExtensionPoint.PRE_FILTER: PreFilterPlugin,
    ExtensionPoint.FILTER: FilterPlugin,
    ExtensionPoint.POST_FILTER: PostFilterPlugin,
    ExtensionPoint.PRE_SCORE: PreScorePlugin,
    ExtensionPoint.SCORE: ScorePlugin,
    ExtensionPoint.RESERVE: ReservePlugin,
    ExtensionPoint.PERMIT: PermitPlugin,
    ExtensionPoint.PRE_BIND: PreBindPlugin,
    ExtensionPoint.BIND: BindPlugin,
    ExtensionPoint.POST_BIND: PostBindPlugin,
    ExtensionPoint.PLACEMENT_GENERATE: PlacementGeneratePlugin,
    ExtensionPoint.PLACEMENT_SCORE: PlacementScorePlugin,
    ExtensionPoint.PLACEMENT_FEASIBLE: PlacementFeasiblePlugin,
    ExtensionPoint.POD_GROUP_POST_FILTER: PodGroupPostFilterPlugin,
}


class PluginError(Exception):
    """The error of a plugin that fails; the scheduling cycle ends with it.

    Not an ``InputError``: the real scheduler ends the cycle in the same way.
    """


def required_state(state: CycleState, kind: type[T], problem: str) -> T:
    """Return what a plugin wrote at an earlier extension point; raise PluginError if it wrote nothing."""
    found = state.read(kind)
    if found is None:
        raise PluginError(problem)
    return found


def default_normalize_score(scores: Int64Array, *, reverse: bool) -> Int64Array:
    """Scale scores so that the highest becomes 100 (plugins/helper ``DefaultNormalizeScore``).

    Parameters
    ----------
    scores : ndarray of int64, shape (n_rows,)
        The raw scores; not negative.
    reverse : bool
        True if low raw scores are better.

    Returns
    -------
    ndarray of int64, shape (n_rows,)
        The scaled scores. Divisions truncate.

    Examples
    --------
    >>> import numpy as np
    >>> default_normalize_score(np.array([0, 1, 3]), reverse=True)
    array([100,  67,   0])
    """
    highest = int(scores.max(initial=0))
    if highest == 0:
        return scores + MAX_NODE_SCORE if reverse else scores
    scaled = MAX_NODE_SCORE * scores // highest
    return MAX_NODE_SCORE - scaled if reverse else scaled


def explain_default_normalize_score(scores: Int64Array, position: int, *, reverse: bool) -> Arithmetic:
    """Return the arithmetic of ``default_normalize_score`` for one of the scores."""
    return ScaledToHighest(int(scores[position]), int(scores.max(initial=0)), reverse)


class ScaledScorePlugin(ScorePlugin):
    """A Score plugin whose scores ``default_normalize_score`` scales."""

    #: True if low raw scores are better.
    prefers_low: ClassVar = False

    def normalize_score(self, state: CycleState, pod: Pod, scores: Int64Array) -> Int64Array:
        return default_normalize_score(scores, reverse=self.prefers_low)

    def explain_normalize_score(self, state: CycleState, pod: Pod, scores: Int64Array, position: int) -> Arithmetic:
        return explain_default_normalize_score(scores, position, reverse=self.prefers_low)
