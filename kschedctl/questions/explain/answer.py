"""A scheduling decision as data: printed by ``explain -o json``, and the source of its text.

The form is part of the public interface. ``schema.json`` describes it and is made from these types.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec import Meta, structs

from kschedctl.common.frames import Cell, ColumnType, Tabular
from kschedctl.common.wording import counted
from kschedctl.objects.core import Taint
from kschedctl.questions.answer import AnswerList, AnswerOutcome, ClusterAnswer, CompoundAnswer, Data, OperandsData
from kschedctl.questions.answer_parts import (
    AppliedData,
    CureData,
    DiagnosisData,
    ExpansionData,
    PodGroupData,
    ThenData,
    TriedData,
)
from kschedctl.questions.devices.answer import AllocationData, PlaceData
from kschedctl.scheduler.cycle.outcome import Outcome, SearchScope
from kschedctl.scheduler.framework.operands import Operands

if TYPE_CHECKING:
    from kschedctl.scheduler.framework.status import Reason, Status


# The search for feasible nodes, as part of the answer of ``explain``.


class SampledNodeData(Data, frozen=True):
    """A node that some start of the search leads to."""

    name: Annotated[str, "The name of the node."]
    starts: Annotated[int, "The number of starts for which the node is a best node of the sample."]
    chance: Annotated[
        float,
        "The probability of the node if all starts are equally likely, from 0 to 1; equally good nodes of a "
        "sample share the probability of its starts.",
    ]


class SearchData(Data, frozen=True):
    """The search for feasible nodes, as kube-scheduler makes it (percentageOfNodesToScore)."""

    scope: Annotated[
        SearchScope,
        "The nodes that the search looks at. sample: it ends early, so that its start decides which nodes are "
        "scored; allNodes: it looks for as many feasible nodes as there are nodes; allFeasible: it finds all "
        "feasible nodes, as there are no more than it looks for; nominated: the pod fits on the node that it is "
        "nominated to; preFilter and podGroup: samples are not followed, because PreFilter leaves nodes in a "
        "random order, or because the pod is tried with its group.",
    ]
    percentage: Annotated[int, "The percentageOfNodesToScore of the profile; 0 if it depends on the number of nodes."]
    starts: Annotated[int, "The number of possible starts, which is the number of nodes that are searched."]
    nodes_to_find: Annotated[int, "The number of feasible nodes at which the search ends."]
    followed: Annotated[bool, "True if all starts were tried (--sampling)."] = False
    nodes: Annotated[
        tuple[SampledNodeData, ...],
        "The nodes that the pod can be scheduled to over all starts, the most likely first; empty if the starts "
        "were not tried.",
    ] = ()
    unscheduled: Annotated[
        int,
        "The number of starts for which the pod is scheduled nowhere: extenders reject every node of the sample, "
        "or a plugin ends the cycle with an error.",
    ] = 0


# The full details of one node as data: the resources, filters and scores that ``explain --node NAME --why`` prints.


class NodeResourceData(Data, frozen=True):
    """A resource of the node. Amounts are quantities."""

    resource: Annotated[str, "The name of the resource."]
    allocatable: Annotated[str, "The allocatable amount of the node."]
    requested: Annotated[str, "The amount that the pods on the node request; for the resource pods, their number."]
    wanted: Annotated[str, "The amount that the pod requests."]
    left: Annotated[str, "The amount that is left with the pod on the node; negative if the pod does not fit."]


class PodUsageData(Data, frozen=True):
    """A pod on the node and its requests."""

    pod: Annotated[str, "The pod, as namespace/name."]
    priority: Annotated[int, "The priority of the pod."]
    requests: Annotated[dict[str, str], "The requests for the resources listed in room, as quantities."]


class FilterCheckData(Data, frozen=True):
    """A comparison that a filter makes on the node."""

    plugin: Annotated[str, "The plugin."]
    wanted: Annotated[str, "The value that the pod requires."]
    found: Annotated[str, "The value that it is compared with."]
    holds: Annotated[bool, "True if the comparison succeeds."]


class StepData(Data, frozen=True):
    """A step in the computation of a score."""

    name: Annotated[str, "The name of the step."]
    expression: Annotated[
        str,
        "The expression with its numbers, ready to evaluate: // divides integers and rounds toward zero, / "
        "divides in float64, round rounds halves away from zero, log is natural; names refer to earlier steps.",
    ]
    value: Annotated[int | float, "The value of the step."]
    note: Annotated[str, "The meaning of the numbers; empty if it is obvious."]


class ArithmeticData(Data, frozen=True):
    """The computation of a number."""

    formula: Annotated[str, "The general formula."]
    steps: Annotated[tuple[StepData, ...], "The steps; the value of the last one is the result."]


class PluginStoryData(Data, frozen=True):
    """The computation of a plugin's score for the node."""

    plugin: Annotated[str, "The plugin."]
    raw: Annotated[int, "The score that the plugin returned."]
    normalized: Annotated[int, "The score normalized to 0 to 100."]
    weight: Annotated[int, "The weight of the plugin in the profile."]
    weighted: Annotated[int, "The normalized score times the weight."]
    score: Annotated[ArithmeticData | None, "The computation of the raw score; null if the plugin does not report it."]
    normalizing: Annotated[
        ArithmeticData | None, "The computation of the normalized score; null if it equals the raw score."
    ]


class NodeStoryData(Data, frozen=True):
    """The full details of one node."""

    name: Annotated[str, "The name of the node."]
    room: Annotated[tuple[NodeResourceData, ...], "The resources that the pod requests, and cpu, memory and pods."]
    pods: Annotated[
        tuple[PodUsageData, ...],
        "The pods with the largest requests for the fullest of these resources, largest first.",
    ]
    more_pods: Annotated[int, "The number of further pods on the node."]
    checks: Annotated[tuple[FilterCheckData, ...], "The comparisons of the filters, in the order of the filters."]
    scores: Annotated[tuple[PluginStoryData, ...], "The scores by plugin; empty if the node was not scored."]


class SuggestedChangeData(TriedData, frozen=True):
    """A change that was tried, and its result."""

    then: Annotated[ThenData, "The result with the change."]
    score: Annotated[int, "The score of the best node with the change."]
    next_best: Annotated[int, "The second-highest score with the change."]


class PluginPointsData(Data, frozen=True):
    """The weighted scores of a plugin for both nodes."""

    plugin: Annotated[str, "The plugin."]
    here: Annotated[int, "The weighted score of the node."]
    there: Annotated[int, "The weighted score of the best other node."]


class PreferenceData(Data, frozen=True):
    """The score of a node compared with the best other one, and changes that make it the only best node."""

    node: Annotated[str, "The node that is preferred."]
    fits: Annotated[bool, "True if the pod fits on the node."]
    is_best: Annotated[bool, "True if the node is among the best without any change."]
    other: Annotated[str, "The best other node; empty if nodes were not scored."] = ""
    here: Annotated[int, "The total score of the node."] = 0
    there: Annotated[int, "The total score of the other node."] = 0
    points: Annotated[tuple[PluginPointsData, ...], "The weighted scores by plugin."] = ()
    changes: Annotated[
        tuple[SuggestedChangeData, ...], "The changes, each of which alone makes the node the only best one."
    ] = ()


class SuggestionData(AppliedData, frozen=True):
    """Changes with which the pod fits: they were made and tried, unless ``untried`` says otherwise."""

    then: Annotated[ThenData, "The result with the changes."]


class ZoneLossData(Data, frozen=True):
    """The result of the loss of a zone."""

    zone: Annotated[str, "The zone."]
    nodes: Annotated[int, "The number of nodes in the zone."]
    feasible_nodes: Annotated[int, "The number of nodes in the zone that the pod fits on."]
    left: Annotated[int, "The number of nodes that the pod fits on after the loss of the zone."]


class WithstandingData(Data, frozen=True):
    """The number of node failures after which the pod still fits on some node.

    A node fails together with its pods; those that a controller recreates stay pending.
    """

    feasible: Annotated[tuple[str, ...], "The nodes that the pod fits on."]
    stands: Annotated[
        int, "The largest known number n such that the pod still fits on some node after the loss of any n nodes."
    ]
    last: Annotated[
        tuple[str, ...], "The smallest set of nodes found whose loss leaves no feasible node; empty if none was found."
    ]
    exact: Annotated[bool, "True if that set is proven to be the smallest one."]
    across: Annotated[tuple[str, ...], "The filters that can reject a node because of the loss of other nodes."]
    tried: Annotated[int, "The number of hypothetical clusters, each without some nodes, that were evaluated."]
    zones: Annotated[tuple[ZoneLossData, ...], "The result by zone."]


class PodData(Data, frozen=True):
    """The pod that the answer is about."""

    namespace: Annotated[str, "The namespace of the pod."]
    name: Annotated[str, "The name of the pod."]
    requests: Annotated[dict[str, str], "The total requests, as quantities by resource."]
    priority: Annotated[int, "The priority of the pod; higher is more important."]
    priority_class_name: Annotated[str, "The PriorityClass of the pod; empty if it names none."]
    scheduler_name: Annotated[str, "The schedulerName, which selects the profile."]
    node_name: Annotated[str, "The node that the pod runs on in the snapshot; empty if there is none."]
    nominated_node_name: Annotated[
        str, "The node that the pod was nominated to by an earlier preemption; empty if there is none."
    ]

    @property
    def key(self) -> str:
        """The pod, as namespace/name."""
        return f"{self.namespace}/{self.name}"


class VerdictData(Data, frozen=True):
    """The verdict: the node chosen, or why there is none."""

    result: Annotated[
        Outcome,
        "The outcome: the pod is scheduled, fits nowhere, is not tried because of a scheduling gate, or the cycle "
        "fails.",
    ]
    summary: Annotated[str, "The result in one or two sentences."]
    nodes: Annotated[
        tuple[str, ...], "The nodes with the highest score; kube-scheduler picks one of several at random."
    ]
    picked: Annotated[
        str | None,
        "The chosen node: the only one, or the one that the seed draws; null if there are several and no seed, or "
        "none.",
    ]
    feasible_nodes: Annotated[int, "The number of nodes that the pod fits on."]
    error: Annotated[str, "The error with which kube-scheduler aborts the scheduling cycle; empty if there is none."]


class StatusData(Data, frozen=True):
    """A status of the scheduling framework."""

    code: Annotated[str, "The framework's code, such as Success or Unschedulable."]
    plugin: Annotated[str, "The plugin that returned the status; empty if none did."]
    reasons: Annotated[tuple[str, ...], "The reasons, in the scheduler's own words."]

    @classmethod
    def of(cls, status: "Status") -> "StatusData":
        """Convert a status to data."""
        return cls(str(status.code), status.plugin, status.reasons)


class ReasonData(Data, frozen=True):
    """A reason for which a plugin rejects a node."""

    plugin: Annotated[str, "The plugin that rejects the node."]
    text: Annotated[str, "The reason in the scheduler's own words, as in its event."]
    detail: Annotated[str, "The reason with the numbers and names behind it; empty if there are none."]
    data: Annotated[
        OperandsData,
        Meta(
            description="The numbers and names behind the reason; amounts of resources are quantities.",
            extra_json_schema={"type": "object"},
        ),
    ]

    @classmethod
    def of(cls, plugin: str, reason: "Reason") -> "ReasonData":
        """Convert a plugin's reason to data."""
        return cls(plugin, reason.text, reason.detail, OperandsData(reason.operands))

    @property
    def operands(self) -> Operands | None:
        return self.data.operands


class NodeData(Data, frozen=True, gc=False):
    """The result of the filters for a node."""

    name: Annotated[str, "The name of the node."]
    zone: Annotated[str, "The value of the node's zone label; empty if the node has none."]
    fits: Annotated[bool, "True if no filter rejects the node."]
    code: Annotated[str, "The status code of the framework at which kube-scheduler stops."]
    plugin: Annotated[str, "The plugin at which kube-scheduler stops; empty if the pod fits."]
    reasons: Annotated[tuple[ReasonData, ...], "The reasons of all filters that reject the node, in order."]


class OwnerUsageData(Data, frozen=True):
    """The use of a resource by one owner of pods."""

    owner: Annotated[str, "The controller of the pods, as KIND NAMESPACE/NAME, or Pod NAMESPACE/NAME."]
    pods: Annotated[int, "The number of its pods on these nodes."]
    amount: Annotated[str, "The amount that these pods request, as a quantity."]


class UsageData(Data, frozen=True):
    """The use of the resource that most nodes lack."""

    resource: Annotated[str, "The resource that most nodes lack."]
    nodes: Annotated[int, "The number of nodes that lack the resource and could hold the pod if they were empty."]
    amount: Annotated[str, "The amount that all pods on these nodes request, as a quantity."]
    owners: Annotated[tuple[OwnerUsageData, ...], "The owners that use most of the resource, largest first; at most 5."]


class ConstraintData(Data, frozen=True):
    """The pods that a required constraint of the pod counts, by topology domain."""

    plugin: Annotated[str, "The plugin that checks the constraint: PodTopologySpread, or InterPodAffinity."]
    topology_key: Annotated[str, "The label whose values are the domains."]
    pods: Annotated[dict[str, int], "The number of matching pods by domain, most pods first; at most 60 domains."]
    domains: Annotated[int, "The number of all domains."]
    own: Annotated[bool, "True if the pod itself matches."]
    minimum: Annotated[
        int | None,
        "The minimum over all domains, 0 if there are fewer than minDomains; null if the constraint is affinity.",
    ] = None
    max_skew: Annotated[int | None, "The largest skew allowed; null if the constraint is affinity."] = None


class FilterData(Data, frozen=True):
    """A filter of the profile."""

    plugin: Annotated[str, "The plugin."]
    skipped: Annotated[bool, "True if the filter has nothing to check for this pod."]


class PluginScoreData(Data, frozen=True, gc=False):
    """A plugin's score for a node."""

    raw: Annotated[int, "The score that the plugin returned."]
    normalized: Annotated[int, "The score normalized to 0 to 100."]
    weighted: Annotated[int, "The normalized score times the plugin's weight."]


class NodeScoreData(Data, frozen=True, gc=False):
    """The scores of a node."""

    name: Annotated[str, "The name of the node."]
    total: Annotated[int, "The sum of the weighted scores."]
    plugins: Annotated[dict[str, PluginScoreData], "The scores by plugin."]


class LeadData(Data, frozen=True):
    """The lead of the best nodes over the second-best ones."""

    over: Annotated[tuple[str, ...], "The second-best nodes, by name."]
    points: Annotated[int, "The difference between the best and the second-best score."]
    plugins: Annotated[
        dict[str, int],
        "The difference by plugin, between the first best and the first second-best node by name; without zeros.",
    ]


class ScoresData(Data, frozen=True):
    """The scores of the nodes that the pod fits on."""

    weights: Annotated[dict[str, int], "The weight of each plugin."]
    nodes: Annotated[Sequence[NodeScoreData], "The scores by node, highest first, then by name."]
    lead: Annotated[LeadData | None, "The lead of the best nodes; null if all nodes have the same score."] = None


class CandidateData(Data, frozen=True):
    """A preemption candidate: a node and the victims on it."""

    name: Annotated[str, "The name of the node."]
    victims: Annotated[tuple[str, ...], "The victims as namespace/name, most important first."]
    pdb_violations: Annotated[int, "The number of evictions that violate a disruption budget."]
    lost_at: Annotated[str, "The criterion at which the candidate lost; empty for the best candidates."]
    terminating: Annotated[tuple[str, ...], "The victims that are already being deleted, as namespace/name."] = ()


class PreemptionData(Data, frozen=True):
    """The result of preemption."""

    status: Annotated[StatusData, "The status that preemption returns to the scheduling cycle."]
    nominated: Annotated[
        tuple[str, ...], "The nodes that can be nominated; kube-scheduler picks one of several at random."
    ]
    candidates: Annotated[tuple[CandidateData, ...], "The nodes on which evictions let the pod fit."]


class WorkloadData(Data, frozen=True):
    """The workload of a manifest from which the pod is created."""

    kind: Annotated[str, "The kind of the workload."]
    namespace: Annotated[str, "The namespace of the workload."]
    name: Annotated[str, "The name of the workload."]
    replicas: Annotated[int, "The desired number of pods; 0 if the workload is scaled down or suspended."]
    pods: Annotated[
        tuple[str, ...],
        "The names of the pods that the answer applies to; a single name may stand for all replicas of a template.",
    ] = ()
    nodes: Annotated[tuple[str, ...], "The nodes that these pods are for, if the workload is a DaemonSet."] = ()
    running: Annotated[
        int,
        "The number of replicas that are on nodes in the snapshot; 0 if the workload is read from a manifest, or "
        "its kind has no number of replicas.",
    ] = 0
    placed: Annotated[
        int | None,
        "The number of further replicas that fit, scheduled one after another; null if that was not computed.",
    ] = None
    suspended: Annotated[
        bool, "True if the workload is a Job or CronJob that is suspended, so that it creates no pod."
    ] = False
    refused: Annotated[
        str, "The message of the quota that refuses a further replica beside those that fit; else empty."
    ] = ""

    held: Annotated[
        str,
        "The state of the workload, and the reason why its controller gets no pods: an API server refuses them, or a "
        "queue holds the workload back; else empty.",
    ] = ""

    @property
    def missing(self) -> int:
        """The number of replicas that are not on a node yet."""
        return max(self.replicas - self.running, 0)

    @property
    def runs(self) -> bool:
        """True if all replicas are on nodes in the snapshot."""
        return self.running > 0 and not self.missing

    @property
    def all_placed(self) -> bool:
        """True unless some replica is known not to fit beside the others."""
        return self.placed is None or self.placed >= self.missing


class ChangeData(Data, frozen=True):
    """A change that admission made to the pod."""

    plugin: Annotated[str, "The admission plugin, or the part of the API server, that made the change."]
    path: Annotated[str, "The path of the field, such as spec.priority."]
    before: Annotated[Any, "The value before the change; null if the field was not set."]
    after: Annotated[Any, "The value after the change, as in a manifest; null if the field is removed."]


class QuotaRefusalData(Data, frozen=True):
    """A quota that refuses the pod before the scheduler sees it."""

    quota: Annotated[str, "The name of the ResourceQuota in the pod's namespace."]
    message: Annotated[str, "The message, in the API server's words."]
    requested: Annotated[dict[str, str], "The amounts that the pod requests of the exceeded resources."]
    used: Annotated[dict[str, str], "The amounts that are in use, as quantities by resource."]
    limited: Annotated[dict[str, str], "The limits of the quota, as quantities by resource."]


class AdmissionData(Data, frozen=True):
    """The result of admission for the pod; empty for a pod that the API server has already stored."""

    changes: Annotated[tuple[ChangeData, ...], "The changes to the pod."] = ()
    quota_refusals: Annotated[tuple[QuotaRefusalData, ...], "The quotas that refuse the pod."] = ()

    def refusals(self, pod: PodData) -> tuple[str, ...]:
        """Return the quotas that refuse the pod, one sentence per quota."""
        return tuple(
            f"{pod.key} would be refused by quota {refusal.quota} before the scheduler sees it: {refusal.message}"
            for refusal in self.quota_refusals
        )


class ClaimsData(Data, frozen=True):
    """The pod's ResourceClaims."""

    places: Annotated[tuple[PlaceData, ...], "The nodes grouped by result: usable, or the reasons why not."]
    allocations: Annotated[
        dict[str, tuple[AllocationData, ...]],
        "The allocations by node: those that exist, or that the scheduler would write if it chose the node.",
    ]


class Explanation(ClusterAnswer, Tabular, frozen=True, kw_only=True):
    """The answer for one pod, or for several pods with the same answer."""

    summary: Annotated[str, "The result in one or two sentences, that of the verdict."] = ""
    pod: Annotated[PodData, "The pod that was decided for: the first, if the answer is about several."]
    workload: Annotated[
        WorkloadData | None, "The workload that the pod stands for; null if the pod itself was requested."
    ] = None
    group: Annotated[
        PodGroupData | None,
        "The decision for the pod's group, with which it is tried; null for a pod that is tried by itself. If the "
        "group is not scheduled, nodes and reasons are those of the first member that finds none.",
    ] = None
    admission: Annotated[AdmissionData, "The result of admission."]
    verdict: Annotated[VerdictData, "The node chosen, or why there is none."]
    pre_enqueue: Annotated[StatusData, "The status of the PreEnqueue plugins: whether the pod may be tried."]
    pre_filter: Annotated[StatusData | None, "The status of the PreFilter plugins; null if they were not run."]
    pre_filter_nodes: Annotated[tuple[str, ...] | None, "The only nodes that PreFilter leaves; null if it leaves all."]
    filters: Annotated[tuple[FilterData, ...], "The filters of the profile, in their order."]
    nodes: Annotated[Sequence[NodeData], "The result of the filters by node, in the order of the snapshot."]
    constraints: Annotated[
        tuple[ConstraintData, ...],
        "The pods by topology domain that required spread constraints and affinity of the pod count; empty if "
        "nodes were not filtered.",
    ]
    claims: Annotated[ClaimsData, "The results for the pod's ResourceClaims; empty if it has none."]
    usage: Annotated[
        UsageData | None,
        "The use of the resource that most nodes lack; null if the pod fits, or no resource is short that other "
        "pods use.",
    ]
    scores: Annotated[ScoresData | None, "The scores of the feasible nodes; null if nodes were not scored."]
    preemption: Annotated[PreemptionData | None, "The result of preemption; null if it was not run."]
    message: Annotated[str, "The text of the FailedScheduling event; empty where the pod fits."]
    diagnoses: Annotated[
        tuple[DiagnosisData, ...],
        "The causes for which the pod is not scheduled, or does not start, the most important first.",
    ] = ()
    autoscaler: Annotated[
        ExpansionData | None, "The answer of the autoscaler of nodes; null if there is none, or a node takes the pod."
    ] = None
    notes: Annotated[
        tuple[str, ...], "The terms and constraints of the pod that do nothing, as no node has their topology key."
    ] = ()
    suggestions: Annotated[
        tuple[SuggestionData, ...] | None,
        "The changes with which the pod would fit, smallest and safest first; null if they were not searched for.",
    ] = None
    suggestions_tried: Annotated[int, "The number of changes that were tried."] = 0
    suggestions_exhausted: Annotated[
        bool, "False if the search for changes, alone and in pairs, stopped at its limit of tries."
    ] = True
    stories: Annotated[tuple[NodeStoryData, ...], "The full details of the nodes of --node, with --why."] = ()
    preference: Annotated[
        PreferenceData | None, "The changes that would move the pod to the node of --prefer; null without --prefer."
    ] = None
    search: Annotated[
        SearchData | None,
        "The search for feasible nodes; null if the pod is not scheduled, and without --sampling if no more than "
        "100 nodes are searched.",
    ] = None
    withstanding: Annotated[
        WithstandingData | None,
        "The failures after which the pod still fits, with --withstand; null without it, or if the pod fits nowhere.",
    ] = None

    @property
    def schedulable(self) -> bool:
        """True if the pod would be scheduled once it is in the cluster."""
        return self.verdict.result is Outcome.SCHEDULED

    @property
    def quota_refusals(self) -> tuple[str, ...]:
        """The quotas that refuse the pod, one sentence per quota."""
        return self.admission.refusals(self.pod)

    def __post_init__(self) -> None:
        structs.force_setattr(self, "summary", self.verdict.summary)

    @property
    def fate(self) -> str:
        """The outcome, or the reason why not all pods of the workload share it."""
        if not self.admitted:
            return _REFUSED
        return _IN_PART if self.schedulable and not self.yes else self.verdict.result

    @property
    def admitted(self) -> bool:
        """True if no quota refuses the pod before the scheduler sees it."""
        return not self.admission.quota_refusals

    @property
    def yes(self) -> bool:
        """True if the pod would be scheduled, no quota refuses it, and all replicas of its workload fit, or run."""
        if self.workload is not None and self.workload.runs:
            return True
        if self.workload is not None and (self.workload.held or not self.workload.all_placed):
            return False
        return self.schedulable and self.admitted

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the nodes that the pod is scheduled to, one line per node: ``node/NODE``.

        If the answer is one of several, each line starts with the pod: ``pod/NAMESPACE/NAME node/NODE``.
        """
        if not self.schedulable:
            return ()
        start = "" if single else f"pod/{self.pod.namespace}/{self.pod.name} "
        nodes = self.verdict.nodes
        if self.verdict.picked:
            nodes = (self.verdict.picked,)
        elif self.search is not None and self.search.followed:
            nodes = tuple(node.name for node in self.search.nodes)
        return tuple(f"{start}node/{name}" for name in nodes)

    def column_types(self) -> dict[str, ColumnType]:
        """Return the columns of the table of nodes, with one column for each plugin that scores."""
        weights = self.scores.weights if self.scores is not None else ()
        own: dict[str, ColumnType] = {"node": str, "zone": str, "fits": bool, "plugin": str, "reasons": str}
        return own | {"score": int} | dict.fromkeys((f"score.{plugin}" for plugin in weights), int)

    def table(self) -> Iterator[tuple[Cell, ...]]:
        """Yield the rows of the table, one per node; scores are weighted, and absent where the pod does not fit."""
        weights = tuple(self.scores.weights) if self.scores is not None else ()
        scored = {score.name: score for score in self.scores.nodes} if self.scores is not None else {}
        for node in self.nodes:
            reasons = "; ".join(reason.detail or reason.text for reason in node.reasons)
            score = scored.get(node.name)
            by_plugin = {plugin: each.weighted for plugin, each in score.plugins.items()} if score is not None else {}
            total = score.total if score is not None else None
            yield (node.name, node.zone, node.fits, node.plugin, reasons, total, *map(by_plugin.get, weights))


class ExplanationList(AnswerList, frozen=True, kw_only=True):
    """The answers for several pods."""

    items: Annotated[tuple[Explanation, ...], "The answers, one per pod or per group of pods with the same answer."]

    def summed_up(self) -> str:
        number: Counter[str] = Counter()
        for answer in self.items:
            number[answer.fate] += max(1, len(answer.workload.pods)) if answer.workload is not None else 1
        return f"{outcomes_in_words(number)}."


_REFUSED: Final = "refused"
_IN_PART: Final = "in part"
#: The outcomes with the words for one and for several pods, the worst first.
FATES: Final[dict[str, tuple[str, str]]] = {
    _REFUSED: ("is refused by a quota", "are refused by a quota"),
    Outcome.ERROR: ("fails", "fail"),
    Outcome.UNSCHEDULABLE: ("fits nowhere", "fit nowhere"),
    Outcome.OTHER_SCHEDULER: ("has another scheduler", "have another scheduler"),
    Outcome.GATED: ("is not tried", "are not tried"),
    _IN_PART: ("fits without all of its replicas", "fit without all of their replicas"),
    Outcome.SCHEDULED: ("fits", "fit"),
}


def outcomes_in_words(number: Counter[str]) -> str:
    """Return the number of pods by outcome, as in ``3 pods: 1 fits nowhere, 2 fit``."""
    counts = [(number[outcome], *words) for outcome, words in FATES.items() if number[outcome]]
    verdicts = ", ".join(f"{n} {one if n == 1 else several}" for n, one, several in counts)
    return f"{counted(number.total(), 'pod')}: {verdicts}"


class LeftOutData(Data, frozen=True):
    """Nodes for which the controller of a DaemonSet creates no pod, for one cause."""

    nodes: Annotated[tuple[str, ...], "The names of the nodes."]
    cause: Annotated[str, "The cause in one clause."]
    expected: Annotated[bool, "True if the taint of the control plane is the only cause, so that this is on purpose."]
    taints: Annotated[tuple[Taint, ...], "The NoSchedule and NoExecute taints that the template does not tolerate."]
    unmet: Annotated[str, "The selection of the template that the nodes do not meet; empty if they meet all."]


class DaemonSetExplanation(CompoundAnswer, frozen=True, kw_only=True):
    """The answers for the pods of one DaemonSet, for text output; ``-o json`` prints one per pod."""

    answers: Annotated[tuple[Explanation, ...], "The answers, one per node of the DaemonSet."]
    nodes: Annotated[tuple[NodeData, ...], "The node that each pod is for."]
    held: Annotated[str, "Why the DaemonSet has fewer pods than it wants; empty if no API server refuses them."] = ""
    left_out: Annotated[tuple[LeftOutData, ...], "The nodes without a pod, by cause."] = ()
    suggestions: Annotated[tuple[CureData, ...], "The changes with which these nodes get a pod."] = ()

    @property
    def outcome(self) -> AnswerOutcome:
        return AnswerOutcome(yes=not self.held) & AnswerOutcome.of_all(answer.outcome for answer in self.answers)


class OutcomeGroupData(Data, frozen=True):
    """Pods with the same outcome for the same cause."""

    outcome: Annotated[Outcome, "The outcome."]
    why: Annotated[str, "The cause in the scheduler's words; empty if the pods fit."]
    pods: Annotated[tuple[str, ...], "The pods, as namespace/name."]


class ExplanationSummary(ClusterAnswer, frozen=True, kw_only=True):
    """The summary of the answers for many pods, for text output; ``-o json`` prints one per pod."""

    fates: Annotated[tuple[OutcomeGroupData, ...], "The outcomes, failures first, then the largest groups."]
    refused: Annotated[bool, "True if a quota refuses at least one of the pods."]

    @property
    def yes(self) -> bool:
        return not self.refused and all(fate.outcome is Outcome.SCHEDULED for fate in self.fates)
