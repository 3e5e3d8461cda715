"""The extension points as base classes. A plugin is a class that derives from those it takes part in.

A plugin answers for all nodes at once: ``filter`` gets an ``Overlay`` (one world per node, the snapshot itself where
it has no changes) and returns ``Rejections``, ``score`` gets node rows and returns an array. For a plugin that looks
at one node at a time see ``kschedctl.framework.node_by_node``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar, Final, Protocol

import msgspec

from kschedctl.api.pod import Pod
from kschedctl.api.resources import RequestRules
from kschedctl.arrays import Int64Array, Mask, Rows
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Overlay
from kschedctl.framework.arithmetic import Arithmetic, ScaledToHighest
from kschedctl.framework.checks import FilterCheck
from kschedctl.framework.config.profile import Profile
from kschedctl.framework.config.types import ConfigStruct
from kschedctl.framework.cycle_state import CycleState
from kschedctl.framework.dependencies import Reach, Reads
from kschedctl.framework.events import EVERYTHING, ClusterEventWithHint, EventResource
from kschedctl.framework.extender import Extender
from kschedctl.framework.extension_point import ExtensionPoint
from kschedctl.framework.remedy import Remedy, RemedyContext
from kschedctl.framework.status import SUCCESS, Rejections, Status
from kschedctl.framework.verdicts import NodeStatuses
from kschedctl.framework.waiting_pods import WaitingPod, WaitingPods
from kschedctl.releases.release import Release

MAX_NODE_SCORE: Final = 100
#: No Permit plugin can let a pod wait for longer.
MAX_PERMIT_SECONDS: Final = 15 * 60.0


@dataclass(frozen=True, slots=True)
class Handle:
    """What a plugin may look at besides the pod.

    Attributes
    ----------
    release : Release
        The rules that apply.
    framework : PluginsRunner
        The framework the plugin runs in, for plugins that run others (preemption).
    scheduler_names : frozenset of str
        The names of all profiles.
    waiting_pods : WaitingPods
        The pods that Permit plugins let wait, those of other profiles included.
    preempting : set of str
        The pods, by ``uid_of``, some of whose victims are still to be evicted.
    extenders : tuple of Extender
        Those that are asked, in their order; none where extenders are not called.
    """

    cluster: Cluster
    release: Release
    framework: PluginsRunner
    scheduler_names: frozenset[str]
    waiting_pods: WaitingPods = field(default_factory=WaitingPods)
    preempting: set[str] = field(default_factory=set)
    extenders: tuple[Extender, ...] = ()

    @property
    def request_rules(self) -> RequestRules:
        """How the release counts what pods request."""
        return RequestRules.of(self.release)

    def pods_that_wake(self, kind: EventResource) -> EventResource:
        """Which pods plugins hear of: a kind of pods, or all where the release does not tell them apart."""
        return EventResource.POD if self.release.queue.unscheduled_pods_wake else kind

    def iterate_over_waiting_pods(self) -> Iterator[WaitingPod]:
        """The pods that wait at Permit, in the order in which they began to."""
        return iter(self.waiting_pods)

    def get_waiting_pod(self, uid: str) -> WaitingPod | None:
        """The waiting pod of a uid; of a pod that has none yet, of the one that ``uid_of`` stands in with."""
        return self.waiting_pods.get(uid)

    def reject_waiting_pod(self, uid: str) -> bool:
        """Turn away a waiting pod as removed, and say whether there was one."""
        return self.waiting_pods.reject(uid)


class PluginsRunner(Protocol):
    """A profile's plugins over one cluster, as plugins and the result cache see them (upstream ``PluginsRunner``)."""

    @property
    def profile(self) -> Profile:
        """The profile."""

    @property
    def cluster(self) -> Cluster:
        """The cluster."""

    @property
    def handle(self) -> Handle:
        """The handle of the plugins."""

    def plugin(self, name: str) -> Plugin:
        """Return a plugin of the profile by its name."""

    def plugin_class(self, name: str) -> type[Plugin]:
        """Return the class of a plugin of the profile."""

    def overlay_with_nominated_pods(self, pod: Pod, rows: Rows) -> Overlay:
        """Return the worlds of some nodes, with the nominated pods that count there while ``pod`` is filtered."""

    def run_filters_with_nominated_pods(
        self, state: CycleState, pod: Pod, nodes: Overlay, absent: Status | None = None
    ) -> NodeStatuses:
        """Run the filters over all worlds, and again with nominated pods where there are any."""

    def passing_with_nominated_pods(self, state: CycleState, pod: Pod, nodes: Overlay) -> Mask:
        """Return where the pod fits by the filters that look at pods: bool, shape (n_worlds,)."""


class Plugin(ABC):
    """Base of all plugins.

    Parameters
    ----------
    args : msgspec.Struct or None
        The plugin's arguments, defaults filled in; ``None`` where it has none.
    handle : Handle
        What it may look at.

    Attributes
    ----------
    args_type : type of ConfigStruct, optional
        What its arguments are read as, strictly and with defaults, where it is not in-tree. Without one they come as
        they are written (``RawArgs``).
    reads : Reads or None
        What the answers of Filter and Score about a node depend on, what PreFilter and PreScore prepared included. By
        default nothing is known: the plugin is asked anew about every node in every cycle.
    prepares_from : Reads or None
        What PreFilter and PreScore depend on; as they answer for all nodes, on the node itself means on any.
    """

    name: ClassVar[str]
    args_type: ClassVar[type[ConfigStruct] | None] = None
    reads: ClassVar[Reads | None] = None
    prepares_from: ClassVar[Reads | None] = None

    def __init__(self, args: msgspec.Struct | None, handle: Handle) -> None:
        self.handle = handle

    def own_part(self, pod: Pod) -> Hashable:
        """What of the pod itself the answers depend on, besides namespace and spec; not asked without ``reads``.

        Whether that is nothing (``None``) must depend on namespace and spec alone, and on objects of ``reads.kinds``.
        """
        return None

    @classmethod
    def exists_in(cls, release: Release) -> bool:
        """Whether a release knows the plugin; by default every release does."""
        return True

    @classmethod
    def extension_points(cls, release: Release) -> frozenset[ExtensionPoint]:
        """Where the plugin takes part in a release: the extension points it derives from, but for absent ones."""
        points = frozenset(point for point, base in EXTENSION_POINT_CLASSES.items() if issubclass(cls, base))
        return frozenset(point for point in points if (cls.name, point) not in release.absent_points)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """The events after which a pod that this plugin turned away may be tried again; by default all of them."""
        return (ClusterEventWithHint(EVERYTHING),)

    def sign_pod(self, pod: Pod) -> Hashable | None:
        """What this plugin's answers depend on of a pod (upstream ``SignPlugin``).

        Pods with the same signature in a row may be placed together (the gate OpportunisticBatching).

        Returns
        -------
        hashable or None
            ``None`` where the answers also depend on something else, which is what is presumed.
        """
        return None

    def remedies(self, context: RemedyContext, status: Status) -> Iterable[Remedy]:
        """What could cure what the plugin said of the pod before any node was looked at; by default nothing.

        What it says of a node is cured by the operands of its reasons (``Operands.remedies``).

        Parameters
        ----------
        context : RemedyContext
            The pod and the cluster.
        status : Status
            What PreEnqueue or PreFilter said; Success where PreFilter narrowed the nodes down.
        """
        return ()


class PreEnqueuePlugin(Plugin):
    """Decides whether a pod may enter the queue."""

    @abstractmethod
    def pre_enqueue(self, pod: Pod) -> Status:
        """Say whether the pod may be tried at all."""


class QueueSortPlugin(Plugin):
    """Orders the queue."""

    @abstractmethod
    def sort_key(self, pod: Pod, queued_at: datetime) -> tuple[object, ...]:
        """A key; pods with smaller keys are tried first."""


@dataclass(frozen=True, slots=True)
class PreFilterResult:
    """What PreFilter says.

    Attributes
    ----------
    status : Status
        Success, Skip, or why the pod cannot be scheduled at all.
    node_names : frozenset of str, optional
        The only nodes that come into question; ``None`` for all.
    """

    status: Status = SUCCESS
    node_names: frozenset[str] | None = None


class PreFilterPlugin(Plugin):
    """Looks at the pod before any node. What it counts over pods must be linear, for ``Overlay.delta``."""

    @abstractmethod
    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        """Prepare filtering; what is needed later is written to the state."""


class FilterPlugin(Plugin):
    """Says on which nodes a pod cannot run. Where its ``reads`` leave pods out, preemption's dry run asks it once."""

    @abstractmethod
    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        """Judge every world of the overlay."""

    def explain_filter(self, state: CycleState, pod: Pod, row: int) -> tuple[FilterCheck, ...]:
        """What is compared with what on a node, also where it passes; asked only when somebody looks at the node.

        By default nothing is told. Nominated pods are not counted.
        """
        return ()

    def losses_can_hurt(self, state: CycleState, pod: Pod) -> bool:
        """Whether the loss of other nodes with their pods can turn a node away that passes, once Filter ran.

        By default where the answer about a node depends on others, or that is not declared.
        """
        return self.reads is None or Reach.CLUSTER in (self.reads.pods, self.reads.nodes)

    def alike_when_lost(self, state: CycleState, pod: Pod) -> Iterator[Int64Array]:
        """What tells nodes apart whose loss with their pods may mean something else to others, once Filter ran.

        Two nodes that have the same numbers in all arrays, int64, shape (n_nodes,), can stand for each other: the
        answers about the others are the same whichever is lost, and so are those about the two. Asked only of a plugin
        whose answer about a node depends on others; by default each node is alone.
        """
        yield self.handle.cluster.nodes.rows


@dataclass(frozen=True, slots=True)
class PostFilterResult:
    """What PostFilter says.

    Attributes
    ----------
    status : Status
        Success where the pod can be scheduled after what was done.
    nominated : tuple of str
        The nodes that the nomination can fall on; several where chance decides.
    clears_nomination : bool
        Whether a nomination that the pod has is taken back where there is no new one.
    """

    status: Status
    nominated: tuple[str, ...] = ()
    clears_nomination: bool = False


class PostFilterPlugin(Plugin):
    """Tries to make room for a pod that fits nowhere."""

    @abstractmethod
    def post_filter(self, state: CycleState, pod: Pod, statuses: NodeStatuses) -> PostFilterResult:
        """Look for a way, given why each node was turned away."""


class PreScorePlugin(Plugin):
    """Looks at the feasible nodes together before scoring."""

    @abstractmethod
    def pre_score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Status:
        """Prepare scoring; Skip where there is nothing to score."""


class ScorePlugin(Plugin):
    """Ranks nodes."""

    @abstractmethod
    def score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Int64Array:
        """A raw score per row: int64, shape (n_rows,)."""

    def normalize_score(self, state: CycleState, pod: Pod, scores: Int64Array) -> Int64Array:
        """Bring raw scores into 0..100: int64, shape (n_rows,). By default they are there already.

        With ``reads``, the answer must depend on the scores alone.
        """
        return scores

    def explain_score(self, state: CycleState, pod: Pod, row: int) -> Arithmetic | None:
        """How the raw score of a node came about, asked only when somebody looks at the node; by default not told."""
        return None

    def explain_normalize_score(
        self, state: CycleState, pod: Pod, scores: Int64Array, position: int
    ) -> Arithmetic | None:
        """How one of the raw scores was brought into 0..100; by default not told."""
        return None


class ReservePlugin(Plugin):
    """Claims what a pod needs on its node, and gives it back where a later step fails."""

    @abstractmethod
    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Claim."""

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Give back; must not fail."""


class PermitPlugin(Plugin):
    """Lets a pod go on to its node, turns it away, or lets it wait."""

    @abstractmethod
    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        """Success, a rejection, or Wait with the seconds it may last."""


class PreBindPlugin(Plugin):
    """Does what must be done before a pod is bound."""

    @abstractmethod
    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Prepare."""


class BindPlugin(Plugin):
    """Binds a pod to its node."""

    @abstractmethod
    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Bind, or Skip to leave it to the next."""


class PostBindPlugin(Plugin):
    """Is told of a binding."""

    @abstractmethod
    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Take notice."""


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
}


class PluginError(Exception):
    """A plugin cannot answer; the scheduling cycle ends with an error.

    Not an ``InputError``: the real scheduler ends the cycle in the same way.
    """


def default_normalize_score(scores: Int64Array, *, reverse: bool) -> Int64Array:
    """Scale scores so that the highest becomes 100 (plugins/helper ``DefaultNormalizeScore``).

    Parameters
    ----------
    scores : ndarray of int64, shape (n_rows,)
        Not negative.
    reverse : bool
        Whether low scores are good.

    Returns
    -------
    ndarray of int64, shape (n_rows,)
        Divisions truncate.

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
    """The arithmetic of ``default_normalize_score`` for one of the scores."""
    return ScaledToHighest(int(scores[position]), int(scores.max(initial=0)), reverse)
