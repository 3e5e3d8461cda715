"""The errors that this package raises. A pod that does not fit is an answer, never an exception.

- KschedctlError
    - InputError: something given is wrong; says where and what to do
        - SnapshotError: in a snapshot
        - ManifestError: in the pod or workload to place
        - ConfigError: in a scheduler configuration
    - ClusterError: the cluster cannot be reached
    - UnsupportedError: asked for something that is not modelled
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self


class KschedctlError(Exception):
    """Base of all errors of this package; its text is meant for users."""


class InputError(KschedctlError):
    """Something given is wrong.

    Parameters
    ----------
    problem : str
        What is wrong, with the value.
    where : str
        File and document, where there are any, such as ``pods.yaml, document 3 (Pod shop/api-0)``.
    path : str
        The field, such as ``spec.containers[0].image``.
    hint : str
        What is expected instead.
    others : sequence of InputError
        Further problems of the same input, shown below this one.
    """

    def __init__(
        self,
        problem: str,
        *,
        where: str = "",
        path: str = "",
        hint: str = "",
        others: Sequence[InputError] = (),
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.where = where
        self.path = path
        self.hint = hint
        self.others = tuple(others)

    @classmethod
    def together(cls, problems: Sequence[InputError]) -> Self:
        """One error of this class that reports all of these problems (at least one), in their order."""
        first, *others = problems
        return cls(first.problem, where=first.where, path=first.path, hint=first.hint, others=others)

    def __str__(self) -> str:
        head = ": ".join(part for part in (self.where, self.path, self.problem) if part)
        text = f"{head}\n  {self.hint}" if self.hint else head
        return "\n".join([text, *map(str, self.others)])


class SnapshotError(InputError):
    """A snapshot cannot be read."""


class ManifestError(InputError):
    """The pod or workload to place cannot be read."""


class ConfigError(InputError):
    """A scheduler configuration is wrong."""


class ClusterError(KschedctlError):
    """The cluster cannot be reached or refuses to answer."""


class UnsupportedError(KschedctlError):
    """Something that is not modelled was asked for."""
