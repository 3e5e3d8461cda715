"""A decision as data for people and programs: what ``-o json`` prints and what the text is made of.

The form is part of the public interface. ``schema/explain.json`` describes it and is made from these types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from kschedctl.answers.base import AnswerList, AnswerOutcome, ClusterAnswer, CompoundAnswer, Data
from kschedctl.answers.devices import AllocationData, PlaceData
from kschedctl.answers.node_story import NodeStoryData
from kschedctl.answers.operands import OperandsData
from kschedctl.answers.tried import AppliedData, ThenData, TriedData
from kschedctl.framework.operands import Operands
from kschedctl.scheduler.outcome import Outcome

if TYPE_CHECKING:
    from kschedctl.framework.status import Reason


class SuggestedChangeData(TriedData, frozen=True):
    """A change that was tried, and what it leads to."""

    then: ThenData
    score: Annotated[int, Meta(description="The node's score then.")]
    next_best: Annotated[int, Meta(description="The next best score then.")]


class PluginPointsData(Data, frozen=True):
    """What a plugin gives both nodes, weighted."""

    plugin: str
    here: int
    there: int


class PreferenceData(Data, frozen=True):
    """Where a node stands, and what would make it the only best one."""

    node: str
    fits: bool
    is_best: Annotated[bool, Meta(description="Whether the pod can go there as it is.")]
    other: Annotated[str, Meta(description="The best other node; empty where nothing was scored.")] = ""
    here: Annotated[int, Meta(description="The node's score.")] = 0
    there: Annotated[int, Meta(description="The other's.")] = 0
    points: Annotated[tuple[PluginPointsData, ...], Meta(description="Where the difference comes from.")] = ()
    changes: Annotated[tuple[SuggestedChangeData, ...], Meta(description="Each alone makes it the only best one.")] = ()


class SuggestionData(AppliedData, frozen=True):
    """Changes that were made and tried: with them the pod fits."""

    then: ThenData


class ZoneLossData(Data, frozen=True):
    """What the loss of a zone leaves."""

    zone: str
    nodes: Annotated[int, Meta(description="How many nodes it has.")]
    feasible: Annotated[int, Meta(description="On how many of these the pod fits.")]
    left: Annotated[int, Meta(description="On how many nodes the pod fits once the zone is gone; 0 for none.")]


class WithstandingData(Data, frozen=True):
    """How many failures the pod can stand before it fits nowhere.

    A node fails with its pods; those that a controller makes anew wait.
    """

    feasible: Annotated[tuple[str, ...], Meta(description="The nodes that it fits on.")]
    stands: Annotated[int, Meta(description="The loss of any so many nodes is known to leave it one.")]
    last: Annotated[
        tuple[str, ...], Meta(description="The fewest nodes found whose loss leaves none; empty where none was found.")
    ]
    exact: Annotated[bool, Meta(description="Whether the loss of no fewer nodes leaves none.")]
    across: Annotated[tuple[str, ...], Meta(description="The filters that can turn a node away once others are lost.")]
    tried: Annotated[int, Meta(description="How many clusters without some nodes were decided over.")]
    zones: Annotated[tuple[ZoneLossData, ...], Meta(description="Zone by zone, by its label.")]


class PodData(Data, frozen=True):
    """The pod in question."""

    namespace: str
    name: str
    requests: Annotated[dict[str, str], Meta(description="What it requests in all, as quantities by resource.")]
    priority: int
    priority_class_name: str
    scheduler_name: Annotated[str, Meta(description="The profile that decides.")]
    node_name: Annotated[str, Meta(description="Where it runs in the snapshot; empty where it does not.")]
    nominated_node_name: Annotated[str, Meta(description="The node that an earlier preemption made room on.")]

    @property
    def key(self) -> str:
        """Its name, as namespace/name."""
        return f"{self.namespace}/{self.name}"


class VerdictData(Data, frozen=True):
    """What comes of it."""

    result: Annotated[Outcome, Meta(description="It goes to one of nodes, fits nowhere, is not tried, or fails.")]
    summary: Annotated[str, Meta(description="One or two sentences.")]
    nodes: Annotated[tuple[str, ...], Meta(description="The nodes that it can go to; chance decides among several.")]
    picked: Annotated[str | None, Meta(description="The node it goes to: the only one, or the one a seed picked.")]
    feasible_nodes: Annotated[int, Meta(description="On how many nodes it fits.")]
    error: Annotated[str, Meta(description="Why kube-scheduler gives up; empty where it does not.")]


class StatusData(Data, frozen=True):
    """A status of the scheduling framework."""

    code: Annotated[str, Meta(description="The framework's code, such as Success or Unschedulable.")]
    plugin: Annotated[str, Meta(description="The plugin that said it; empty for none.")]
    reasons: Annotated[tuple[str, ...], Meta(description="The scheduler's own words.")]


class ReasonData(Data, frozen=True):
    """Why a plugin turns a node away."""

    plugin: str
    text: Annotated[str, Meta(description="The scheduler's own words, as in its event.")]
    detail: Annotated[
        str, Meta(description="The same with the numbers or names behind it; empty where there are none.")
    ]
    data: Annotated[
        OperandsData,
        Meta(
            description="Those numbers (milli-CPU, bytes, counts) and names.",
            extra_json_schema={"type": "object"},
        ),
    ]

    @classmethod
    def of(cls, plugin: str, reason: Reason) -> ReasonData:
        """Put a plugin's reason into data."""
        return cls(plugin, reason.text, reason.detail, OperandsData(reason.operands))

    @property
    def operands(self) -> Operands | None:
        """What the reason is made of."""
        return self.data.operands


class NodeData(Data, frozen=True):
    """One node."""

    name: str
    zone: Annotated[str, Meta(description="Of its label; empty where it has none.")]
    fits: bool
    code: Annotated[str, Meta(description="The framework's code that kube-scheduler stops at.")]
    plugin: Annotated[str, Meta(description="The plugin that kube-scheduler stops at; empty where the pod fits.")]
    reasons: Annotated[tuple[ReasonData, ...], Meta(description="Every filter that turns the node away, in order.")]


class OwnerUsageData(Data, frozen=True):
    """Who uses a resource."""

    owner: Annotated[str, Meta(description="The pods' controller, as KIND NAMESPACE/NAME, or Pod NAMESPACE/NAME.")]
    pods: Annotated[int, Meta(description="How many pods it has there.")]
    amount: Annotated[str, Meta(description="What they request, as a quantity.")]


class UsageData(Data, frozen=True):
    """Who uses what the nodes lack."""

    resource: str
    nodes: Annotated[int, Meta(description="How many nodes lack it that could hold the pod if they were empty.")]
    amount: Annotated[str, Meta(description="What all pods there request, as a quantity.")]
    owners: Annotated[tuple[OwnerUsageData, ...], Meta(description="Who uses most of it, the largest first.")]


class FilterData(Data, frozen=True):
    """A filter of the profile."""

    plugin: str
    skipped: Annotated[bool, Meta(description="Whether it has nothing to check for this pod.")]


class PluginScoreData(Data, frozen=True):
    """A plugin's score for a node."""

    raw: Annotated[int, Meta(description="As the plugin returned it.")]
    normalized: Annotated[int, Meta(description="Brought into 0 to 100.")]
    weighted: Annotated[int, Meta(description="Times the plugin's weight.")]


class NodeScoreData(Data, frozen=True):
    """The scores of a node."""

    name: str
    total: int
    plugins: dict[str, PluginScoreData]


class LeadData(Data, frozen=True):
    """How close it came."""

    over: Annotated[tuple[str, ...], Meta(description="The second-best nodes, by name.")]
    points: Annotated[int, Meta(description="The points between them and the best.")]
    plugins: Annotated[
        dict[str, int],
        Meta(description="The difference by plugin, between the first of the best and the first of these by name."),
    ]


class ScoresData(Data, frozen=True):
    """The scores of the nodes that the pod fits on."""

    weights: Annotated[dict[str, int], Meta(description="By plugin.")]
    nodes: Annotated[tuple[NodeScoreData, ...], Meta(description="From the best down; equal ones by name.")]
    lead: Annotated[LeadData | None, Meta(description="null where no node has less than the best.")] = None


class CandidateData(Data, frozen=True):
    """A node that evictions would make room on."""

    name: str
    victims: Annotated[tuple[str, ...], Meta(description="As namespace/name, the most important first.")]
    pdb_violations: Annotated[int, Meta(description="How many evictions break a disruption budget.")]
    lost_at: Annotated[str, Meta(description="The criterion at which it lost; empty for the nominated ones.")]


class PreemptionData(Data, frozen=True):
    """What preemption would do."""

    status: StatusData
    nominated: Annotated[tuple[str, ...], Meta(description="The nodes it can fall on; chance decides among several.")]
    candidates: tuple[CandidateData, ...]


class WorkloadData(Data, frozen=True):
    """What a manifest has that makes the pod."""

    kind: str
    namespace: str
    name: str
    replicas: Annotated[int, Meta(description="How many pods it wants in all; 0 where it is scaled down or suspended.")]
    pods: Annotated[
        tuple[str, ...], Meta(description="Those that the answer is the same for. All of them where one is named.")
    ] = ()
    nodes: Annotated[tuple[str, ...], Meta(description="The nodes they are for, where it is a DaemonSet.")] = ()
    placed: Annotated[
        int | None,
        Meta(description="How many of its replicas fit one after another; null where that is not asked."),
    ] = None

    @property
    def all_placed(self) -> bool:
        """Whether nothing is known of a replica that finds no room beside the others."""
        return self.placed is None or self.placed >= self.replicas


class ChangeData(Data, frozen=True):
    """What admission changed."""

    plugin: Annotated[str, Meta(description="The admission plugin, or the part of the API server that did it.")]
    path: Annotated[str, Meta(description="The field, such as spec.priority.")]
    before: Annotated[Any, Meta(description="null where it was not set.")]
    after: Any


class QuotaRefusalData(Data, frozen=True):
    """A quota that refuses the pod before the scheduler sees it."""

    quota: Annotated[str, Meta(description="Its name; it is in the pod's namespace.")]
    message: Annotated[str, Meta(description="Why, in the API server's words.")]
    requested: Annotated[dict[str, str], Meta(description="What the pod asks for of what is exceeded.")]
    used: dict[str, str]
    limited: dict[str, str]


class AdmissionData(Data, frozen=True):
    """What an API server does with the pod before the scheduler sees it; nothing for a pod that it has stored."""

    changes: tuple[ChangeData, ...] = ()
    quota_refusals: tuple[QuotaRefusalData, ...] = ()


class ClaimsData(Data, frozen=True):
    """The pod's claims for devices."""

    places: Annotated[
        tuple[PlaceData, ...],
        Meta(description="Where they can be used and why not elsewhere, by groups of nodes that fare alike."),
    ]
    allocations: Annotated[
        dict[str, tuple[AllocationData, ...]],
        Meta(description="By node what they have, or the scheduler would write if it chose that node."),
    ]


class Explanation(ClusterAnswer, frozen=True, kw_only=True):
    """The answer for one pod, or for several that it is the same for."""

    pod: PodData
    workload: Annotated[WorkloadData | None, Meta(description="null for a pod that stands for itself.")] = None
    admission: AdmissionData
    verdict: VerdictData
    pre_enqueue: Annotated[StatusData, Meta(description="Whether the pod may be tried at all.")]
    pre_filter: Annotated[StatusData | None, Meta(description="What is said before any node is looked at.")]
    pre_filter_nodes: Annotated[
        tuple[str, ...] | None, Meta(description="The only nodes that come into question; null for all.")
    ]
    filters: tuple[FilterData, ...]
    nodes: tuple[NodeData, ...]
    claims: Annotated[ClaimsData, Meta(description="What its claims for devices get; empty without any.")]
    usage: Annotated[
        UsageData | None, Meta(description="Who uses the resource that most nodes lack; null where the pod fits.")
    ]
    scores: ScoresData | None
    preemption: Annotated[PreemptionData | None, Meta(description="null where it is not asked.")]
    message: Annotated[str, Meta(description="The text of the FailedScheduling event; empty where the pod fits.")]
    suggestions: Annotated[
        tuple[SuggestionData, ...] | None,
        Meta(description="What would make it fit, the smallest and safest first; null where that was not looked for."),
    ] = None
    suggestions_tried: Annotated[int, Meta(description="How many changes were tried to find them.")] = 0
    suggestions_exhausted: Annotated[
        bool, Meta(description="Whether all of the kinds that are tried were; else the search was ended.")
    ] = True
    stories: Annotated[
        tuple[NodeStoryData, ...], Meta(description="The whole story of the nodes that --node names, with --why.")
    ] = ()
    preference: Annotated[
        PreferenceData | None, Meta(description="What would move the pod to the node of --prefer; null without it.")
    ] = None
    withstanding: Annotated[
        WithstandingData | None,
        Meta(description="What failures the pod can stand, with --withstand; null without it, or if it fits nowhere."),
    ] = None

    @property
    def schedulable(self) -> bool:
        """Whether the pod would be scheduled, once it is in the cluster."""
        return self.verdict.result is Outcome.SCHEDULED

    @property
    def quota_refusals(self) -> tuple[str, ...]:
        """A sentence for each quota that refuses the pod."""
        return tuple(
            f"{self.pod.namespace}/{self.pod.name} would be refused by quota {refusal.quota} before the scheduler "
            f"sees it: {refusal.message}"
            for refusal in self.admission.quota_refusals
        )

    @property
    def admitted(self) -> bool:
        """Whether no quota refuses the pod before the scheduler sees it."""
        return not self.admission.quota_refusals

    @property
    def yes(self) -> bool:
        """True if the pod would be scheduled, no quota refuses it, and all replicas of its workload fit."""
        return self.schedulable and self.admitted and (self.workload is None or self.workload.all_placed)

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """The nodes that the pod goes to; of several pods each line starts with the pod: ``pod/NS/NAME node/NODE``."""
        if not self.schedulable:
            return ()
        start = "" if single else f"pod/{self.pod.namespace}/{self.pod.name} "
        nodes = (self.verdict.picked,) if self.verdict.picked else self.verdict.nodes
        return tuple(f"{start}node/{name}" for name in nodes)


class ExplanationList(AnswerList, frozen=True, kw_only=True):
    """The answers for several pods."""

    items: tuple[Explanation, ...]


class DaemonSetExplanation(CompoundAnswer, frozen=True, kw_only=True):
    """The answers for the pods of one DaemonSet, for people; ``-o json`` has them one by one."""

    answers: tuple[Explanation, ...]
    nodes: Annotated[tuple[NodeData, ...], Meta(description="The node that each pod is for.")]

    @property
    def outcome(self) -> AnswerOutcome:
        """The outcome of all answers together."""
        return AnswerOutcome.of_all(answer.outcome for answer in self.answers)


class FateData(Data, frozen=True):
    """Pods that have one outcome for one cause."""

    outcome: Outcome
    why: Annotated[str, Meta(description="The cause in the scheduler's words; empty where they fit.")]
    pods: tuple[str, ...]


class ExplanationSummary(ClusterAnswer, frozen=True, kw_only=True):
    """The answers for many pods in short, for people; ``-o json`` has them one by one."""

    fates: Annotated[tuple[FateData, ...], Meta(description="Failures first, then the largest groups.")]
    refused: Annotated[bool, Meta(description="Whether a quota refuses one of the pods.")]

    @property
    def yes(self) -> bool:
        """True if all pods would be scheduled, and no quota refuses one."""
        return not self.refused and all(fate.outcome is Outcome.SCHEDULED for fate in self.fates)
