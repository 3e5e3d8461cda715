"""Streams of answers: each answer is available as soon as it is decided."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from kschedctl.questions.answers.base import Answer, AnswerList, AnswerOutcome, ClusterAnswer

A = TypeVar("A", bound=ClusterAnswer)


@dataclass(slots=True)
class AnswerStream(Generic[A]):
    """A stream of answers. It can be iterated over once.

    Attributes
    ----------
    answers : iterable of ClusterAnswer
        The answers.
    gather : callable
        Makes a list answer of all answers, such as the type of an AnswerList.
    total : int
        The number of objects that were requested; several of them may share an answer.
    single : bool
        True if a single object was requested, so that its answer is returned without a list around it.
    outcome : AnswerOutcome
        The combined outcome of the answers that were consumed so far.
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
        """Consume all answers, and return the only one or the list of them."""
        every = tuple(self)
        return every[0] if self.single and len(every) == 1 else self.gather(every)
