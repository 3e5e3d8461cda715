"""The framework's interface to scheduler extenders, which are called after the plugins (upstream ``Extender``)."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.config import types
from kschedctl.scheduler.framework.cycle_state import NotModelled
from kschedctl.scheduler.framework.operands import Operands

#: The plugin name that stands for all extenders, in statuses and queueing hints.
EXTENDER_NAME: Final = "Extender"
#: The highest priority an extender gives; 10 corresponds to a plugin score of 100.
MAX_EXTENDER_PRIORITY: Final = 10


class ExtenderError(Exception):
    """The error of an extender that cannot be called or reports a failure, in kube-scheduler's words.

    Not an ``InputError``: the real scheduler ends the cycle in the same way.
    """


class ExtenderFilterResult(msgspec.Struct, frozen=True):
    """The result of an extender's filter call."""

    #: The names of the nodes that passed, in the extender's order.
    nodes: tuple[str, ...]
    #: The passed nodes that the extender returned as objects: they are used as returned, and without any pods.
    objects: Mapping[str, Node] = msgspec.field(default_factory=dict)
    #: The failure message of each rejected node, by name. Preemption does not help on nodes in the latter.
    failed: Mapping[str, str] = msgspec.field(default_factory=dict)
    failed_and_unresolvable: Mapping[str, str] = msgspec.field(default_factory=dict)


class Victims(msgspec.Struct, frozen=True):
    """The eviction victims on a node."""

    #: The victims, most important first.
    pods: tuple[Pod, ...]
    #: The number of evictions that violate a PodDisruptionBudget.
    num_pdb_violations: int


class MetaVictims(msgspec.Struct, frozen=True):
    """The eviction victims on a node, as an extender returns them."""

    #: The identifiers of the pods (``uid_of``), in the extender's order.
    uids: tuple[str, ...]
    #: The number of evictions that violate a PodDisruptionBudget, as the extender counts them.
    num_pdb_violations: int


class Extender(ABC):
    """A scheduler extender, called for the pods that it is interested in.

    Args:
        config: Its address, verbs and managed resources.
        binds: True if the bind verb is really called. Otherwise the pod counts as bound without a call.
    """

    def __init__(self, config: types.ExtenderConfig, *, binds: bool = False) -> None:
        self.config = config
        self.binds = binds

    @property
    def name(self) -> str:
        """The extender's URL prefix."""
        return self.config.url_prefix

    def is_interested(self, pod: Pod) -> bool:
        """Report whether the extender is called for a pod."""
        return is_interested(self.config, pod)

    @abstractmethod
    def filter(self, pod: Pod, nodes: Sequence[Node]) -> ExtenderFilterResult:
        """Filter nodes. Called only if ``filter_verb`` is configured.

        Raises ExtenderError if the extender cannot be called, or reports a failure.
        """

    @abstractmethod
    def prioritize(self, pod: Pod, nodes: Sequence[Node]) -> Sequence[tuple[str, int]]:
        """Return the priorities of nodes, by name, from 0 to 10. Called only if ``prioritize_verb`` is configured.

        Raises ExtenderError as for ``filter``.
        """

    @abstractmethod
    def process_preemption(self, pod: Pod, victims: Mapping[str, Victims]) -> Mapping[str, MetaVictims]:
        """Reject preemption candidates or change their victims, by node. Called only if ``preempt_verb`` is configured.

        Raises ExtenderError as for ``filter``.
        """

    @abstractmethod
    def bind(self, pod: Pod, node_name: str) -> None:
        """Bind a pod. Called only if ``bind_verb`` is configured.

        Raises ExtenderError as for ``filter``.
        """


def is_interested(config: types.ExtenderConfig, pod: Pod) -> bool:
    """Report whether an extender is called for a pod.

    An extender without managed resources is called for every pod. An extender with managed resources is called only for
    pods with a container or init container that requests or limits one of them.
    """
    managed = {resource.name for resource in config.managed_resources}
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    return not managed or any(
        managed.intersection(container.resources.requests) or managed.intersection(container.resources.limits)
        for container in containers
    )


class ExtenderRejection(Operands, frozen=True):
    """The operands of a rejection by an extender."""

    #: The extender's URL prefix.
    url: str
    #: The extender's message; empty if it left the node out without one.
    message: str

    def words(self) -> str:
        return f"reported by the extender {self.url}" if self.message else f"the extender {self.url} gives no reason"


def extender_note(extender: Extender, effect: str) -> NotModelled:
    """Return a note that the answer does not follow an extender completely."""
    return NotModelled(f"the extender {extender.name}", effect)
