"""Extenders as the framework sees them: somebody outside who is asked after the plugins (upstream ``Extender``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kschedctl.api.core import Node
from kschedctl.api.pod import Pod
from kschedctl.framework.config import types
from kschedctl.framework.operands import Operands

#: The plugin that stands for all extenders where a plugin is named.
EXTENDER_NAME: Final = "Extender"
#: The highest priority that an extender gives; a hundred of the plugins' points are ten of theirs.
MAX_EXTENDER_PRIORITY: Final = 10


class ExtenderError(Exception):
    """An extender cannot be asked, or says itself that it failed, in kube-scheduler's words.

    Not an ``InputError``: the real scheduler ends the cycle in the same way.
    """


@dataclass(frozen=True, slots=True)
class ExtenderFilterResult:
    """What an extender makes of the nodes that it is given.

    Attributes
    ----------
    nodes : tuple of str
        The names of those that it leaves, in its order.
    objects : mapping of str to Node
        Those of them that it sent back as objects: they count as it sent them, and without any pods.
    failed, failed_and_unresolvable : mapping of str to str
        Why others are out, by name. Removing pods does not help on the latter.
    """

    nodes: tuple[str, ...]
    objects: Mapping[str, Node] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    failed_and_unresolvable: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Victims:
    """Whom evictions would cost on a node.

    Attributes
    ----------
    pods : tuple of Pod
        The most important first.
    num_pdb_violations : int
        How many evictions break a disruption budget.
    """

    pods: tuple[Pod, ...]
    num_pdb_violations: int


@dataclass(frozen=True, slots=True)
class MetaVictims:
    """The same as an extender answers it.

    Attributes
    ----------
    uids : tuple of str
        What the pods are known by (``uid_of``), in the extender's order.
    num_pdb_violations : int
        How many evictions break a disruption budget, as the extender counts.
    """

    uids: tuple[str, ...]
    num_pdb_violations: int


class Extender(ABC):
    """Somebody outside who is asked about pods that it is interested in.

    Parameters
    ----------
    config : Extender of the configuration
        How it is asked, and what about.
    binds : bool
        Whether it is really told to bind. Where it is not, what it would bind counts as bound.
    """

    def __init__(self, config: types.Extender, *, binds: bool = False) -> None:
        self.config = config
        self.binds = binds

    @property
    def name(self) -> str:
        """Its address."""
        return self.config.url_prefix

    def is_interested(self, pod: Pod) -> bool:
        """Whether it is asked about a pod."""
        return is_interested(self.config, pod)

    @abstractmethod
    def filter(self, pod: Pod, nodes: Sequence[Node]) -> ExtenderFilterResult:
        """Turn nodes away. It has the verb for that.

        Raises
        ------
        ExtenderError
            Where it cannot be asked, or fails.
        """

    @abstractmethod
    def prioritize(self, pod: Pod, nodes: Sequence[Node]) -> Sequence[tuple[str, int]]:
        """Rate nodes, by name from 0 to 10. It has the verb for that.

        Raises
        ------
        ExtenderError
            As ``filter``.
        """

    @abstractmethod
    def process_preemption(self, pod: Pod, victims: Mapping[str, Victims]) -> Mapping[str, MetaVictims]:
        """Turn candidates for preemption away, or change their victims; both by node. It has the verb for that.

        Raises
        ------
        ExtenderError
            As ``filter``.
        """

    @abstractmethod
    def bind(self, pod: Pod, node_name: str) -> None:
        """Bind a pod. It has the verb for that.

        Raises
        ------
        ExtenderError
            As ``filter``.
        """


def is_interested(config: types.Extender, pod: Pod) -> bool:
    """Whether an extender is asked about a pod: one that looks after resources only where a container uses one."""
    managed = {resource.name for resource in config.managed_resources}
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    return not managed or any(
        managed.intersection(container.resources.requests) or managed.intersection(container.resources.limits)
        for container in containers
    )


class SaidByExtender(Operands, frozen=True):
    """An extender does not want the pod on a node.

    Attributes
    ----------
    url : str
        Its address.
    message : str
        Why, in its words; empty where it leaves the node out without any.
    """

    url: str
    message: str

    def words(self) -> str:
        """Who says so."""
        return f"says the extender {self.url}" if self.message else f"the extender {self.url} gives no reason"
