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
from msgspec import Meta

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
    """What an answer, or one of the sides that it compares, rests on."""

    rules: RulesData
    snapshot: SnapshotData
    warnings: tuple[str, ...]
    missing: Annotated[
        tuple[MissingData, ...], Meta(description="What bears on the answer and is not in the snapshot.")
    ]
    not_modelled: tuple[NotModelledData, ...]

    @property
    def complete(self) -> bool:
        """Whether nothing that bears on the answer is missing or not modelled."""
        return not self.missing and not self.not_modelled


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
    warnings : tuple of str
        What else to be careful about.
    changes : tuple of str
        What of the snapshot was changed to see what then.
    """

    release_choice: ReleaseChoice
    paths: tuple[str, ...]
    n_pods: int
    missing: tuple[Missing, ...] = ()
    warnings: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()


class Shared(TypedDict):
    """The fields of an envelope, by name."""

    rules: RulesData
    snapshot: SnapshotData
    warnings: tuple[str, ...]
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
        warnings=tuple(warning for warning in (choice.warning, *provenance.warnings) if warning),
        missing=tuple(MissingData(m.kind, m.needed_for, m.effect) for m in provenance.missing),
        not_modelled=tuple(NotModelledData(n.feature, n.effect) for n in not_modelled),
    )


def same_envelope(other: Envelope) -> Shared:
    """What another answer rests on, for one that is made from it."""
    return Shared(
        rules=other.rules,
        snapshot=other.snapshot,
        warnings=other.warnings,
        missing=other.missing,
        not_modelled=other.not_modelled,
    )


def together(envelopes: Sequence[Envelope]) -> Envelope:
    """What several answers rest on: what the first one does (there is at least one), with the cautions of all."""
    return Envelope(
        rules=envelopes[0].rules,
        snapshot=envelopes[0].snapshot,
        warnings=tuple(dict.fromkeys(text for each in envelopes for text in each.warnings)),
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
