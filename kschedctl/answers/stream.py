"""Answers that come one by one, each as soon as it is decided."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from kschedctl.answers.base import Answer, AnswerList, AnswerOutcome, ClusterAnswer

A = TypeVar("A", bound=ClusterAnswer)


@dataclass(slots=True)
class AnswerStream(Generic[A]):
    """Answers that come one by one. It can be iterated over once.

    Attributes
    ----------
    answers : iterable of ClusterAnswer
        The answers.
    gather : callable
        Makes the list that they are together, such as the type of an AnswerList.
    total : int
        The number of things that are asked about; several may share an answer.
    single : bool
        True if one thing was named, so that the only answer stands for itself.
    outcome : AnswerOutcome
        The outcome of the answers that have come so far.
    """

    answers: Iterable[A]
    gather: Callable[[tuple[A, ...]], AnswerList]
    total: int
    single: bool = False
    outcome: AnswerOutcome = field(default_factory=AnswerOutcome)

    def __iter__(self) -> Iterator[A]:
        for answer in self.answers:
            self.outcome &= answer.outcome
            yield answer

    def collect(self) -> Answer:
        """Wait for all answers, and return the only one or the list of them."""
        every = tuple(self)
        return every[0] if self.single and len(every) == 1 else self.gather(every)
