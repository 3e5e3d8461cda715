"""The registry of questions. A new question is a function in this package and a line here."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kschedctl.questions.capacity import answer as capacity
from kschedctl.questions.devices import answer as devices
from kschedctl.questions.diff import answer as diff
from kschedctl.questions.drain import answer as drain
from kschedctl.questions.explain import answer as explain
from kschedctl.questions.inventory import answer as lists
from kschedctl.questions.leader import answer as leader
from kschedctl.questions.lint import answer as lint
from kschedctl.questions.nodes import answer as nodes
from kschedctl.questions.pending import answer as pending
from kschedctl.questions.preempt import answer as preempt
from kschedctl.questions.simulate import answer as simulate
from kschedctl.questions.volumes import answer as volumes
from kschedctl.web.questions import questions as inventory
from kschedctl.web.questions import questions as of_nodes
from kschedctl.web.questions import questions as overview
from kschedctl.web.questions import questions as pods
from kschedctl.web.questions import questions as simulations
from kschedctl.web.questions import questions as storage
from kschedctl.web.questions.question import Body, NoParameters, ObjectQuery, Question

_POD: Final = "/pods/{namespace}/{name}"

#: The questions, in the order of the API's document.
QUESTIONS: Final[tuple[Question, ...]] = (
    Question(path="/cluster", run=inventory.show_cluster, asks=NoParameters, answers=(lists.ClusterSummary,)),
    Question(path="/nodes", run=of_nodes.list_nodes, asks=of_nodes.NodesQuery, answers=(nodes.NodesOverview,)),
    Question(path="/nodes/{name}", run=of_nodes.show_node, asks=of_nodes.NodeQuery, answers=(nodes.NodeDescription,)),
    Question(path="/pods", run=inventory.show_pods, asks=inventory.PodsQuery, answers=(lists.PodsOverview,)),
    Question(path=f"{_POD}/explain", run=pods.explain_pod, asks=pods.ExplainPodQuery, answers=(explain.Explanation,)),
    Question(path=f"{_POD}/preempt", run=pods.preempt_pod, asks=pods.PreemptPodQuery, answers=(preempt.Preemption,)),
    Question(path=f"{_POD}/volumes", run=storage.show_pod_volumes, asks=ObjectQuery, answers=(volumes.PodVolumes,)),
    Question(path="/pending", run=overview.show_pending, asks=overview.PendingQuery, answers=(pending.Pending,)),
    Question(
        path="/workloads", run=inventory.show_workloads, asks=inventory.ListQuery, answers=(lists.WorkloadsOverview,)
    ),
    Question(
        path="/workloads/{kind}/{namespace}/{name}",
        run=inventory.show_workload,
        asks=inventory.WorkloadQuery,
        answers=(lists.WorkloadDescription,),
    ),
    Question(path="/budgets", run=inventory.show_budgets, asks=inventory.ListQuery, answers=(lists.BudgetsOverview,)),
    Question(
        path="/budgets/{namespace}/{name}",
        run=inventory.show_budget,
        asks=ObjectQuery,
        answers=(lists.BudgetDescription,),
    ),
    Question(path="/volumes", run=storage.show_claims, asks=storage.ClaimsQuery, answers=(volumes.VolumesList,)),
    Question(
        path="/volumes/{namespace}/{name}", run=storage.show_claim, asks=ObjectQuery, answers=(volumes.ClaimVolumes,)
    ),
    Question(path="/devices", run=storage.show_devices, asks=NoParameters, answers=(devices.DevicesOverview,)),
    Question(
        path="/devices/claims/{namespace}/{name}",
        run=storage.show_device_claim,
        asks=ObjectQuery,
        answers=(devices.DeviceSupply,),
    ),
    Question(
        path="/devices/classes/{name}",
        run=storage.show_device_class,
        asks=storage.DeviceClassQuery,
        answers=(devices.DeviceSupply,),
    ),
    Question(
        path="/leader", run=overview.show_leaders, asks=NoParameters, answers=(leader.LeaderOverview,), what_ifs=False
    ),
    Question(path="/search", run=inventory.find_objects, asks=inventory.SearchQuery, answers=(lists.SearchResults,)),
    Question(
        method="POST",
        path="/explain",
        run=pods.explain_manifest,
        asks=pods.ExplainManifestQuery,
        answers=(explain.Explanation, explain.ExplanationList),
        body=Body.REQUIRED,
    ),
    Question(
        method="POST",
        path="/lint",
        run=overview.lint_manifest,
        asks=overview.LintQuery,
        answers=(lint.LintReport,),
        body=Body.REQUIRED,
    ),
    Question(
        method="POST",
        path="/drain",
        run=simulations.simulate_drain,
        asks=simulations.DrainQuery,
        answers=(drain.Drained,),
        is_job=True,
    ),
    Question(
        method="POST",
        path="/simulate",
        run=simulations.simulate_queue,
        asks=simulations.SimulateQuery,
        answers=(simulate.Simulated,),
        body=Body.OPTIONAL,
        is_job=True,
    ),
    Question(
        method="POST",
        path="/capacity",
        run=simulations.count_copies,
        asks=simulations.CapacityQuery,
        answers=(capacity.PodCapacity, capacity.CapacityList),
        body=Body.OPTIONAL,
        is_job=True,
    ),
    Question(
        method="POST",
        path="/pending",
        run=overview.find_changes,
        asks=overview.ChangesQuery,
        answers=(pending.Pending,),
        is_job=True,
    ),
    Question(
        method="POST",
        path="/diff",
        run=simulations.compare,
        asks=simulations.CompareQuery,
        answers=(diff.Diff,),
        is_job=True,
    ),
)
#: The questions by name.
BY_NAME: Final[Mapping[str, Question]] = MappingProxyType({question.name: question for question in QUESTIONS})
