"""The parts that all answers share: rules, snapshot, warnings, and the outcome that sets the exit code.

Field names are part of the public interface; the JSON Schema is made from these types and those of each command.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import Annotated, Any, Final, Generic, Literal, Self, TypedDict, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from kschedctl.common.frames import ShownInNotebooks
from kschedctl.common.text.json_text import encoded_json
from kschedctl.objects.quantity import parse_quantity
from kschedctl.objects.releases.choice import ChosenBy
from kschedctl.objects.resources import CPU, EPHEMERAL_STORAGE, HUGEPAGES_PREFIX, MEMORY, format_amount, scheduler_units
from kschedctl.scheduler.framework.operands import Operands

# Parts of an answer that are typed until the answer is encoded, then other data.


class TypedPart(ABC):
    """A part of an answer that is encoded as other data than it has in Python."""

    __slots__ = ()

    @abstractmethod
    def encodable(self) -> object:
        """Return the data that msgspec writes."""


class OperandsData(TypedPart):
    """The operands of a reason: typed in Python, a plain object in JSON.

    Args:
        operands: The operands; ``None`` if the reason has none, which is encoded as an empty object.
    """

    __slots__ = ("operands",)

    def __init__(self, operands: Operands | None) -> None:
        self.operands: Final = operands

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OperandsData) and other.operands == self.operands

    def __hash__(self) -> int:
        return hash(self.operands)

    def __repr__(self) -> str:
        return f"OperandsData({self.operands!r})"

    def encodable(self) -> object:
        return self.operands.data() if self.operands is not None else {}


def encode_part(value: object) -> object:
    """Return the data that msgspec writes for a typed part of an answer.

    Raises NotImplementedError if the value is of another type.
    """
    if isinstance(value, TypedPart):
        return value.encodable()
    if isinstance(value, msgspec.Raw):
        # msgspec takes it for JSON, but not for other data.
        return msgspec.json.decode(value)
    raise NotImplementedError(f"answers have no {type(value).__name__}")


def schema_of(kind: type) -> dict[str, Any]:
    """Return the JSON Schema of operands: empty, because each plugin has its own; the field declares the object.

    Raises NotImplementedError if the type is another one.
    """
    if kind is OperandsData:
        return {}
    raise NotImplementedError(f"answers have no {kind.__name__}")


API_VERSION: Final = "kschedctl/v1"
#: The summary of a list without answers, which only a selection of pending pods returns.
NONE_PENDING: Final = "No pod is pending."
_FIRST: Final = ("apiVersion", "kind")
#: The provenance of an answer, which comes after the answer itself.
_LAST: Final = ("rules", "snapshot", "warnings", "doubts", "missing", "notModelled")


class Data(msgspec.Struct, frozen=True, rename="camel"):
    """Base of all parts of an answer."""


@dataclass(frozen=True, slots=True)
class AnswerOutcome:
    """The outcome of an answer, which sets the exit code.

    Attributes
    ----------
    yes : bool
        True if the answer is positive: the pod fits, nothing differs, nothing is wrong.
    complete : bool
        True if everything that the answer depends on is known.
    interrupted : bool
        True if the analysis was cancelled and the answer covers only the part that was done.
    """

    yes: bool = True
    complete: bool = True
    interrupted: bool = False

    def __and__(self, other: "AnswerOutcome") -> "AnswerOutcome":
        return AnswerOutcome(
            yes=self.yes and other.yes,
            complete=self.complete and other.complete,
            interrupted=self.interrupted or other.interrupted,
        )

    @classmethod
    def of_all(cls, outcomes: "Iterable[AnswerOutcome]") -> Self:
        """Combine the outcomes of several answers."""
        every = list(outcomes)
        return cls(
            yes=all(each.yes for each in every),
            complete=all(each.complete for each in every),
            interrupted=any(each.interrupted for each in every),
        )


class Answer(ShownInNotebooks):
    """Base of all answers."""

    __slots__ = ()

    @property
    def yes(self) -> bool:
        """True if the answer is positive: the pod fits, nothing differs, nothing is wrong."""
        return True

    @property
    def complete(self) -> bool:
        """True if everything that the answer depends on is known."""
        return True

    @property
    def interrupted(self) -> bool:
        """True if the analysis was cancelled and the answer covers only the part that was done."""
        return False

    @property
    def outcome(self) -> AnswerOutcome:
        """The outcome of the answer, which sets the exit code."""
        return AnswerOutcome(yes=self.yes, complete=self.complete, interrupted=self.interrupted)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as ``-o json`` prints it: apiVersion and kind first, the provenance last."""
        data: dict[str, Any] = msgspec.json.decode(self.json_bytes())
        return data

    def to_json(self) -> str:
        """Return the answer as JSON on one line, with the fields of ``to_dict`` in their order."""
        return self.json_bytes().decode()

    def json_bytes(self) -> bytes:
        """The UTF-8 of ``to_json``."""
        return encoded_json(_ordered(self), encode_part)

    def to_text(self, width: int | None = None, *, wide: bool = False) -> str:
        """Return the text that the command of the question prints, without the commands that it suggests.

        Parameters
        ----------
        width : int, optional
            The largest number of characters in a line; by default that of the terminal. 0 wraps no lines.
        wide : bool
            True for the text of ``-o wide``.
        """
        # Answers do not depend on their presentation, so the module is looked up by its name.
        text: str = import_module("kschedctl.output.terminal").as_text(self, width, wide=wide)
        return text

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        first = next((line for line in self.to_text(0).splitlines() if line), "")
        return f"<{type(self).__name__}: {first}>"

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the lines of ``-o name``: objects in the notation of kubectl.

        Parameters
        ----------
        single : bool
            False if the answer is one of several: each line then starts with the object that the answer is about.
        """
        raise NotImplementedError


def _ordered(answer: object) -> dict[str, Any]:
    """Return the fields of an answer and of its items, by name and in the order in which they are printed."""
    data = ordered(answer)
    if "items" in data:
        data["items"] = [_ordered(item) for item in data["items"]]
    return data


def ordered(part: object) -> dict[str, Any]:
    """Return the fields of a part of an answer, by name and in the order in which they are printed."""
    assert isinstance(part, msgspec.Struct)
    config = type(part).__struct_config__
    data: dict[str, Any] = {config.tag_field: config.tag} if config.tag_field else {}
    for name, of in zip(part.__struct_encode_fields__, part.__struct_fields__, strict=True):
        if (value := getattr(part, of)) is not UNSET:
            data[name] = value
    own = {name: value for name, value in data.items() if name not in _FIRST and name not in _LAST}
    return (
        {name: data[name] for name in _FIRST if name in data}
        | own
        | {name: data[name] for name in _LAST if name in data}
    )


class RulesData(Data, frozen=True):
    """The rules that were applied: a Kubernetes release and its feature gates."""

    kubernetes_version: Annotated[str, "The Kubernetes release, as major.minor."]
    chosen_by: Annotated[
        ChosenBy,
        "The source of the release: an option, the control plane's version, the newest kubelet's version, or the "
        "default.",
    ]
    why: Annotated[str, "The source of the release in words."]
    cluster_version: Annotated[
        str, "The version that the choice is based on, as the cluster reports it; empty for an option or the default."
    ]
    feature_gates: Annotated[dict[str, bool], "The state of each modelled feature gate, by name."]


class SnapshotData(Data, frozen=True):
    """The cluster state that the decision was made on."""

    paths: Annotated[tuple[str, ...], "The files of the snapshot, as given; empty for a running cluster."]
    nodes: Annotated[int, "The number of nodes."]
    pods: Annotated[int, "The number of pods that have not finished."]
    written_at: Annotated[
        datetime | None,
        "The time of the state: as the snapshot records it, else the newest past time in its objects; null if "
        "they have none.",
    ]
    changes: Annotated[tuple[str, ...], "The what-ifs that were applied to the snapshot, in words."] = ()


class NotModelledData(Data, frozen=True):
    """A feature that the answer depends on and that is not modelled."""

    feature: Annotated[str, "The feature."]
    effect: Annotated[str, "The consequence for the answer."]


class MissingData(Data, frozen=True):
    """A kind of object that the answer depends on and that the snapshot does not have."""

    kind: Annotated[str, "The kind of object."]
    needed_for: Annotated[str, "The reason why the answer depends on it."]
    effect: Annotated[str, "The consequence for the answer."]
    permission: Annotated[
        str | UnsetType,
        "The permission that is needed, as arguments of kubectl auth can-i; absent unless the kind is missing "
        "because the user was not allowed to list it.",
    ] = UNSET
    decides: Annotated[bool, "True if the answer is unknown without it; false if it only adds to the answer."] = True


class Envelope(Data, frozen=True, kw_only=True):
    """The provenance of an answer, or of one side of a comparison: its rules, its snapshot and its limits.

    An answer is complete, and ``--strict`` accepts it, if nothing in the envelope says that the cluster's own scheduler
    may decide differently. The limits count as follows:

    - ``missing`` and ``notModelled`` always count. If one of ``missing`` has a ``permission`` and ``decides``, the
      answer is not known: its other fields, such as ``summary``, are what follows without that kind.
    - Warnings that make the answer uncertain count, and are repeated in ``doubts``: the cluster's own release is not
      modelled; objects could not be used; an object is in the snapshot twice.
    - Warnings about the input do not count, because the answer for that input is exact: configuration settings that
      kube-scheduler interprets in an unexpected way; feature gates that have no effect on the answer; a what-if that
      changes nothing in the pod; a quota that would refuse the pod, which is part of the answer itself.
    """

    rules: Annotated[RulesData, "The rules that were applied."]
    snapshot: Annotated[SnapshotData, "The cluster state that the decision was made on."]
    warnings: Annotated[tuple[str, ...], "All warnings, also those that leave the answer exact."]
    doubts: Annotated[
        tuple[str, ...] | UnsetType, "The warnings that make the answer uncertain; absent if there are none."
    ] = UNSET
    missing: Annotated[
        tuple[MissingData, ...], "The objects that the answer depends on and that the snapshot does not have."
    ]
    not_modelled: Annotated[
        tuple[NotModelledData, ...], "The features that the answer depends on and that are not modelled."
    ]

    @property
    def unlisted(self) -> tuple[MissingData, ...]:
        """The kinds without which the answer is not known, and which the user was not allowed to list."""
        return tuple(each for each in self.missing if each.permission and each.decides)

    @property
    def complete(self) -> bool:
        """True if there are no ``missing``, ``not_modelled`` or ``doubts``."""
        return not self.missing and not self.not_modelled and not self.doubts


class ClusterAnswer(Envelope, Answer, frozen=True, kw_only=True, tag_field="kind"):
    """Base of the answers about one object or one cluster; ``kind`` is the type of the answer."""

    api_version: Annotated[Literal["kschedctl/v1"], "The version of the form of the answer."] = API_VERSION

    __repr__ = Answer.__repr__


class CompoundAnswer(Data, Answer, frozen=True, kw_only=True, tag_field="kind"):
    """Base of the answers that combine several answers, or that are not based on a cluster."""

    api_version: Annotated[Literal["kschedctl/v1"], "The version of the form of the answer."] = API_VERSION

    __repr__ = Answer.__repr__


class AnswerList(CompoundAnswer, frozen=True, kw_only=True):
    """Base of the answers about several objects, in ``items``."""

    summary: Annotated[str, "The results in one sentence."] = ""

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "summary", self.summed_up() if self.answers else NONE_PENDING)

    def summed_up(self) -> str:
        """Return the results of the answers, at least one, in one sentence."""
        raise NotImplementedError

    @property
    def answers(self) -> tuple[ClusterAnswer, ...]:
        """The items."""
        items: tuple[ClusterAnswer, ...] = getattr(self, "items", ())
        return items

    @property
    def outcome(self) -> AnswerOutcome:
        return AnswerOutcome.of_all(answer.outcome for answer in self.answers)

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        return tuple(name for answer in self.answers for name in answer.names(single=False))


class EnvelopeFields(TypedDict):
    """The fields of an envelope, by name."""

    rules: RulesData
    snapshot: SnapshotData
    warnings: tuple[str, ...]
    doubts: tuple[str, ...] | UnsetType
    missing: tuple[MissingData, ...]
    not_modelled: tuple[NotModelledData, ...]


def merged_envelope(envelopes: Sequence[Envelope]) -> Envelope:
    """Merge several envelopes (at least one): rules and snapshot of the first, the limits of all."""
    return Envelope(
        rules=envelopes[0].rules,
        snapshot=envelopes[0].snapshot,
        warnings=tuple(dict.fromkeys(text for each in envelopes for text in each.warnings)),
        doubts=tuple(dict.fromkeys(text for each in envelopes for text in each.doubts or ())) or UNSET,
        missing=tuple(dict.fromkeys(missing for each in envelopes for missing in each.missing)),
        not_modelled=tuple(dict.fromkeys(feature for each in envelopes for feature in each.not_modelled)),
    )


# Streams of answers: each answer is available as soon as it is decided.

A = TypeVar("A", bound=ClusterAnswer)


class AnswerStream(msgspec.Struct, Generic[A]):
    """A stream of answers. It can be iterated over once."""

    answers: Iterable[A]
    #: Makes a list answer of all answers, such as the type of an AnswerList.
    gather: Callable[[tuple[A, ...]], AnswerList]
    #: The number of objects that were requested; several of them may share an answer.
    total: int
    #: True if a single object was requested, so that its answer is returned without a list around it.
    single: bool = False
    #: The key by which answers that are shown together are sorted; ``None`` for the order of the stream.
    order: Callable[[A], int] | None = None
    #: The combined outcome of the answers that were consumed so far.
    outcome: AnswerOutcome = msgspec.field(default_factory=AnswerOutcome)

    def __iter__(self) -> Iterator[A]:
        for answer in self.answers:
            self.outcome &= answer.outcome
            yield answer

    def collect(self) -> Answer:
        """Consume all answers, and return the only one or the list of them."""
        every = self.in_order()
        return every[0] if self.single and len(every) == 1 else self.gather(every)

    def in_order(self) -> tuple[A, ...]:
        """Consume all answers, and return them in their order."""
        return tuple(self if self.order is None else sorted(self, key=self.order))


# Resource amounts in answers: exact quantities for programs, readable amounts for people.


def readable(resource: str, quantity: str) -> str:
    """Format a quantity in the unit that reasons use.

    >>> readable("cpu", "1500m"), readable("memory", "1536Mi")
    ('1.5', '1.5Gi')
    """
    return format_amount(resource, amount_of(resource, quantity))


def amount_of(resource: str, quantity: str) -> int:
    """Return a quantity in the scheduler's units: milli-CPU, bytes or a count.

    >>> amount_of("cpu", "1500m"), amount_of("memory", "1Ki")
    (1500, 1024)
    """
    return scheduler_units({resource: parse_quantity(quantity)})[resource]


def unit_name(resource: str) -> str:
    """Return the name of a resource with the unit of its amounts in tables: milli-CPU, bytes, or a count without unit.

    >>> unit_name("cpu"), unit_name("memory"), unit_name("nvidia.com/gpu")
    ('cpu_milli', 'memory_bytes', 'nvidia.com/gpu')
    """
    if resource == CPU:
        return f"{resource}_milli"
    counts_bytes = resource in (MEMORY, EPHEMERAL_STORAGE) or resource.startswith(HUGEPAGES_PREFIX)
    return f"{resource}_bytes" if counts_bytes else resource
