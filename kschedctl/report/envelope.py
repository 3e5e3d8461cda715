"""What all answers share: whose rules applied, what was decided over, and what to be careful about.

The form is part of the public interface: the JSON Schemas in ``schema/`` are made from these types and from those of
the commands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Literal, TypedDict

import msgspec
from msgspec import UNSET, Meta, UnsetType

from kschedctl.cluster.cluster import Cluster
from kschedctl.framework.cycle_state import NotModelled
from kschedctl.releases.choice import ChosenBy, ReleaseChoice
from kschedctl.report.operands import schema_of
from kschedctl.scheduler.missing import Missing

API_VERSION: Final = "kschedctl/v1"


class Data(msgspec.Struct, frozen=True, rename="camel"):
    """Base of all parts of an answer."""


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
        """Whether nothing says that the cluster's own scheduler may answer otherwise; the rule is above."""
        return not self.missing and not self.not_modelled and not self.doubts


class Answer(Envelope, frozen=True, kw_only=True, tag_field="kind"):
    """Base of the answers about one thing; each is of its own kind."""

    api_version: Literal["kschedctl/v1"] = API_VERSION

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """What ``-o name`` prints, line by line: things as kubectl names them.

        Parameters
        ----------
        single : bool
            Whether nothing else is asked about; if not, a line says whom it is for where it is not that itself.
        """
        raise NotImplementedError


class Compound(Data, frozen=True, kw_only=True, tag_field="kind"):
    """Base of the answers that are made of several."""

    api_version: Literal["kschedctl/v1"] = API_VERSION

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """What ``-o name`` prints."""
        raise NotImplementedError


class AnswerList(Compound, frozen=True, kw_only=True):
    """Base of the answers about several things, in ``items``."""

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """What ``-o name`` prints."""
        answers: tuple[Answer, ...] = getattr(self, "items", ())
        return tuple(name for answer in answers for name in answer.names(single=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What an answer rests on, as the engine knows it.

    Attributes
    ----------
    release_choice : ReleaseChoice
        Whose rules, and why.
    paths : tuple of str
        What the snapshot was read from.
    n_pods : int
        How many pods the snapshot has.
    missing : tuple of Missing
        What the snapshot lacks for this answer.
    doubts : tuple of str
        What else puts the answer in doubt.
    warnings : tuple of str
        What to be careful about besides, although the answer is exact.
    changes : tuple of str
        What of the snapshot was changed to see what then.
    """

    release_choice: ReleaseChoice
    paths: tuple[str, ...]
    n_pods: int
    missing: tuple[Missing, ...] = ()
    doubts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()


class Shared(TypedDict):
    """The fields of an envelope, by name."""

    rules: RulesData
    snapshot: SnapshotData
    warnings: tuple[str, ...]
    doubts: tuple[str, ...] | UnsetType
    missing: tuple[MissingData, ...]
    not_modelled: tuple[NotModelledData, ...]


def envelope(cluster: Cluster, provenance: Provenance, not_modelled: Iterable[NotModelled] = ()) -> Shared:
    """What an answer rests on, as data, to be given to its type.

    Parameters
    ----------
    cluster : Cluster
        What was decided over.
    provenance : Provenance
        What the answer rests on.
    not_modelled : iterable of NotModelled
        What bears on it and is not modelled.
    """
    choice = provenance.release_choice
    doubts = tuple(text for text in (choice.warning, *provenance.doubts) if text)
    return Shared(
        rules=RulesData(
            kubernetes_version=choice.release.version,
            chosen_by=choice.chosen_by,
            why=choice.why,
            cluster_version=choice.cluster_version,
            feature_gates=dict(sorted(choice.release.features.items())),
        ),
        snapshot=SnapshotData(
            paths=provenance.paths,
            nodes=len(cluster.nodes),
            pods=provenance.n_pods,
            written_at=cluster.taken_at,
            changes=provenance.changes,
        ),
        warnings=(*doubts, *provenance.warnings),
        doubts=doubts or UNSET,
        missing=tuple(MissingData(m.kind, m.needed_for, m.effect) for m in provenance.missing),
        not_modelled=tuple(NotModelledData(n.feature, n.effect) for n in not_modelled),
    )


def same_envelope(other: Envelope) -> Shared:
    """What another answer rests on, for one that is made from it."""
    return Shared(
        rules=other.rules,
        snapshot=other.snapshot,
        warnings=other.warnings,
        doubts=other.doubts,
        missing=other.missing,
        not_modelled=other.not_modelled,
    )


def together(envelopes: Sequence[Envelope]) -> Envelope:
    """What several answers rest on: what the first one does (there is at least one), with the cautions of all."""
    return Envelope(
        rules=envelopes[0].rules,
        snapshot=envelopes[0].snapshot,
        warnings=tuple(dict.fromkeys(text for each in envelopes for text in each.warnings)),
        doubts=tuple(dict.fromkeys(text for each in envelopes for text in each.doubts or ())) or UNSET,
        missing=tuple(dict.fromkeys(missing for each in envelopes for missing in each.missing)),
        not_modelled=tuple(dict.fromkeys(feature for each in envelopes for feature in each.not_modelled)),
    )


def json_schema(command: str, description: str, *answers: type[Answer | Compound]) -> dict[str, Any]:
    """The JSON Schema of what a command prints with ``-o json``.

    Parameters
    ----------
    command : str
        Its name.
    description : str
        What it answers.
    *answers : type
        The types that it answers with.
    """
    kinds, parts = msgspec.json.schema_components(answers, schema_hook=schema_of, ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"kschedctl {command} -o json",
        "description": description,
        "oneOf": list(kinds),
        "$defs": parts,
    }
