"""Tie-breaking: the choice between the best nodes of equal score, or between equal candidates for preemption."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kschedctl.api.pod import Pod

#: One of the nodes, given by name in alphabetical order.
Choose = Callable[[Pod, Sequence[str]], str]


def first_by_name(pod: Pod, nodes: Sequence[str]) -> str:
    """The first node by name."""
    return nodes[0]


@dataclass(frozen=True, slots=True)
class TieBreak:
    """The rule of random choice: a seed that draws one of several equal nodes, or none to take the first by name."""

    seed: int | None = None

    def choose(self) -> Choose:
        """Return the function that chooses; the functions of one seed draw the same nodes."""
        if self.seed is None:
            return first_by_name
        source = random.Random(self.seed)
        return lambda pod, nodes: source.choice(nodes)

    @property
    def words(self) -> str:
        """The rule in words, behind "among equal nodes"."""
        return "the first by name is taken" if self.seed is None else f"seed {self.seed} draws"


def as_recorded(choices: Mapping[str, Iterable[str]]) -> Choose:
    """The nodes that were taken, pod by pod; the first by name where none was, or one that is not among them.

    Parameters
    ----------
    choices : mapping of str to iterable of str
        Per ``namespace/name`` the node of every attempt in order; empty for one that went nowhere.
    """
    left = {key: deque(node for node in nodes if node) for key, nodes in choices.items()}

    def choose(pod: Pod, nodes: Sequence[str]) -> str:
        own = left.get(pod.key)
        node = own.popleft() if own else ""
        return node if node in nodes else nodes[0]

    return choose
