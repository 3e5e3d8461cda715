"""Tie-breaking: the choice between the best nodes of equal score, or between equal candidates for preemption."""

import random
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from kschedctl.objects.pod import Pod

#: Returns one of several nodes for a pod; the nodes' names are passed in alphabetical order.
Choose = Callable[[Pod, Sequence[str]], str]


def first_by_name(pod: Pod, nodes: Sequence[str]) -> str:
    """Return the first node by name."""
    return nodes[0]


class TieBreak(msgspec.Struct, frozen=True):
    """The tie-breaking rule: a random seed that draws one of several equal nodes, or ``None`` for the first by name."""

    seed: int | None = None

    def choose(self) -> Choose:
        """Return the function that breaks ties; two functions with the same seed draw the same nodes."""
        if self.seed is None:
            return first_by_name
        source = random.Random(self.seed)
        return lambda pod, nodes: source.choice(nodes)

    @property
    def words(self) -> str:
        """The rule as text that follows "among equal nodes"."""
        return "the first by name is chosen" if self.seed is None else f"seed {self.seed} chooses"


def as_recorded_in_groups(choices: Mapping[str, Iterable[Sequence[str]]]) -> Callable[[str], Choose]:
    """Return a function that repeats recorded choices within groups, attempt by attempt.

    Args:
        choices: Per group, ``namespace/name``, and attempt: the node of every search, in order; empty for those
            that found none.
    """
    left = {key: deque(attempts) for key, attempts in choices.items()}

    def choose_in_group(key: str) -> Choose:
        own = left.get(key)
        nodes = deque(own.popleft() if own else ())

        def choose(pod: Pod, best: Sequence[str]) -> str:
            node = nodes.popleft() if nodes else ""
            return node if node in best else next(iter(best), "")

        return choose

    return choose_in_group


def as_recorded(choices: Mapping[str, Iterable[str]]) -> Choose:
    """Return a function that repeats recorded choices, pod by pod.

    The function takes the first node by name if no choice is left for the pod, or if the recorded node is not among
    those to choose from.

    Args:
        choices: Per ``namespace/name``, the node of every attempt in order; empty for an attempt that found none.
    """
    left = {key: deque(node for node in nodes if node) for key, nodes in choices.items()}

    def choose(pod: Pod, nodes: Sequence[str]) -> str:
        own = left.get(pod.key)
        node = own.popleft() if own else ""
        return node if node in nodes else nodes[0]

    return choose
