"""The parts that all answers share: rules, snapshot, warnings, and the outcome that the exit code follows.

Field names are part of the public interface; the JSON Schema is made from these types and those of each question.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, Literal, Self, TypedDict

import msgspec
from msgspec import UNSET, Meta, UnsetType

from kschedctl.releases.choice import ChosenBy

API_VERSION: Final = "kschedctl/v1"


class Data(msgspec.Struct, frozen=True, rename="camel"):
    """Base of all parts of an answer."""


@dataclass(frozen=True, slots=True)
class AnswerOutcome:
    """The outcome of a question, which the exit code follows.

    Attributes
    ----------
    yes : bool
        True if the answer is the one that people hope for: the pod fits, nothing differs, nothing is wrong.
    complete : bool
        True if everything that the answer depends on is known.
    interrupted : bool
        True if the analysis was cancelled and the answer covers the part that was done.
    """

    yes: bool = True
    complete: bool = True
    interrupted: bool = False

    def __and__(self, other: AnswerOutcome) -> AnswerOutcome:
        return AnswerOutcome(
            yes=self.yes and other.yes,
            complete=self.complete and other.complete,
            interrupted=self.interrupted or other.interrupted,
        )

    @classmethod
    def of_all(cls, outcomes: Iterable[AnswerOutcome]) -> Self:
        """Return the outcome of several answers together."""
        every = list(outcomes)
        return cls(
            yes=all(each.yes for each in every),
            complete=all(each.complete for each in every),
            interrupted=any(each.interrupted for each in every),
        )


class Answer:
    """Base of all answers."""

    __slots__ = ()

    @property
    def yes(self) -> bool:
        """True if the answer is the one that people hope for."""
        return True

    @property
    def complete(self) -> bool:
        """True if everything that the answer depends on is known."""
        return True

    @property
    def interrupted(self) -> bool:
        """True if the analysis was cancelled and the answer covers the part that was done."""
        return False

    @property
    def outcome(self) -> AnswerOutcome:
        """The outcome that the exit code follows."""
        return AnswerOutcome(yes=self.yes, complete=self.complete, interrupted=self.interrupted)

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the lines of ``-o name``: objects as kubectl names them.

        Parameters
        ----------
        single : bool
            False for one of several answers: a line then starts with the object that the answer is about.
        """
        raise NotImplementedError


class RulesData(Data, frozen=True):
    """Whose rules were applied."""

    kubernetes_version: Annotated[str, Meta(description="The release, as major.minor.")]
    chosen_by: Annotated[ChosenBy, Meta(description="What the choice of it goes by.")]
    why: Annotated[str, Meta(description="The same in words.")]
    cluster_version: Annotated[str, Meta(description="The version that it goes by, as the cluster writes it.")]
    feature_gates: Annotated[dict[str, bool], Meta(description="The feature gates that are modelled.")]


class SnapshotData(Data, frozen=True):
    """What was decided over."""

    paths: tuple[str, ...]
    nodes: Annotated[int, Meta(description="How many nodes it has.")]
    pods: Annotated[int, Meta(description="How many pods it has that have not finished.")]
    written_at: Annotated[datetime | None, Meta(description="When the newest of its files was written, where known.")]
    changes: Annotated[tuple[str, ...], Meta(description="What was changed after the reading, to see what then.")] = ()


class NotModelledData(Data, frozen=True):
    """Something that bears on the answer and is not modelled."""

    feature: str
    effect: Annotated[str, Meta(description="What that means for the answer.")]


class MissingData(Data, frozen=True):
    """Something that bears on the answer and is not in the snapshot."""

    kind: str
    needed_for: str
    effect: Annotated[str, Meta(description="What that means for the answer.")]


class Envelope(Data, frozen=True, kw_only=True):
    """What an answer, or one of the sides that it compares, rests on.

    An answer is complete, and ``--strict`` content with it, where nothing in it says that the cluster's own scheduler
    may answer otherwise. What it is careful about counts as follows:

    - ``missing`` and ``notModelled`` always count.
    - Warnings that put it in doubt count, and are ``doubts`` too: the cluster's own release is not modelled; kinds
      were not listed, or objects could not be used; an object is in the snapshot twice.
    - Warnings about what was given do not count, as the answer to that is exact: what kube-scheduler takes otherwise
      than one may think in a configuration; feature gates that have no effect here; a what-if that changes nothing in
      the pod; a quota that would refuse the pod, which is part of the answer itself.
    """

    rules: RulesData
    snapshot: SnapshotData
    warnings: tuple[str, ...]
    doubts: Annotated[
        tuple[str, ...] | UnsetType,
        Meta(description="Those of the warnings that put the answer in doubt; left out where there are none."),
    ] = UNSET
    missing: Annotated[
        tuple[MissingData, ...], Meta(description="What bears on the answer and is not in the snapshot.")
    ]
    not_modelled: tuple[NotModelledData, ...]

    @property
    def complete(self) -> bool:
        """True if nothing says that the cluster's own scheduler may answer otherwise; the rule is above."""
        return not self.missing and not self.not_modelled and not self.doubts


class ClusterAnswer(Envelope, Answer, frozen=True, kw_only=True, tag_field="kind"):
    """Base of the answers about one thing of a cluster; each is of its own kind."""

    api_version: Literal["kschedctl/v1"] = API_VERSION


class CompoundAnswer(Data, Answer, frozen=True, kw_only=True, tag_field="kind"):
    """Base of the answers that are made of several, or rest on no cluster."""

    api_version: Literal["kschedctl/v1"] = API_VERSION


class AnswerList(CompoundAnswer, frozen=True, kw_only=True):
    """Base of the answers about several things, in ``items``."""

    @property
    def answers(self) -> tuple[ClusterAnswer, ...]:
        """The items."""
        items: tuple[ClusterAnswer, ...] = getattr(self, "items", ())
        return items

    @property
    def outcome(self) -> AnswerOutcome:
        """The outcome of all items together."""
        return AnswerOutcome.of_all(answer.outcome for answer in self.answers)

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the lines of ``-o name``, those of each item after the other."""
        return tuple(name for answer in self.answers for name in answer.names(single=False))


class EnvelopeFields(TypedDict):
    """The fields of an envelope, by name."""

    rules: RulesData
    snapshot: SnapshotData
    warnings: tuple[str, ...]
    doubts: tuple[str, ...] | UnsetType
    missing: tuple[MissingData, ...]
    not_modelled: tuple[NotModelledData, ...]


def same_envelope(other: Envelope) -> EnvelopeFields:
    """Return the envelope of another answer, for an answer that is made from it."""
    return EnvelopeFields(
        rules=other.rules,
        snapshot=other.snapshot,
        warnings=other.warnings,
        doubts=other.doubts,
        missing=other.missing,
        not_modelled=other.not_modelled,
    )


def together(envelopes: Sequence[Envelope]) -> Envelope:
    """Return one envelope for several answers: that of the first (there is at least one), with the cautions of all."""
    return Envelope(
        rules=envelopes[0].rules,
        snapshot=envelopes[0].snapshot,
        warnings=tuple(dict.fromkeys(text for each in envelopes for text in each.warnings)),
        doubts=tuple(dict.fromkeys(text for each in envelopes for text in each.doubts or ())) or UNSET,
        missing=tuple(dict.fromkeys(missing for each in envelopes for missing in each.missing)),
        not_modelled=tuple(dict.fromkeys(feature for each in envelopes for feature in each.not_modelled)),
    )
