"""What settles chance: which of the best nodes of equal score, or of equal candidates for preemption, is taken."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from kschedctl.api.pod import Pod

#: One of the nodes, given by name in alphabetical order.
Choose = Callable[[Pod, Sequence[str]], str]


def first_by_name(pod: Pod, nodes: Sequence[str]) -> str:
    """The first node by name."""
    return nodes[0]


def by_seed(seed: int) -> Choose:
    """Any of the nodes; the same seed draws the same ones."""
    source = random.Random(seed)
    return lambda pod, nodes: source.choice(nodes)


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
