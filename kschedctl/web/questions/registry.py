"""The registry of questions: those about objects and manifests, and all that a request declares with a path."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kschedctl.questions.capacity import answer as capacity
from kschedctl.questions.devices import answer as devices
from kschedctl.questions.diff import answer as diff
from kschedctl.questions.explain import answer as explain
from kschedctl.questions.inventory import answer as lists
from kschedctl.questions.leader import answer as leader
from kschedctl.questions.lint import answer as lint
from kschedctl.questions.method import Method
from kschedctl.questions.nodes import answer as nodes
from kschedctl.questions.pending import answer as pending
from kschedctl.questions.preempt import answer as preempt
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from kschedctl.questions.schema.schema import ANSWERS
from kschedctl.questions.simulate import answer as simulate
from kschedctl.questions.volumes import answer as volumes
from kschedctl.web.questions import questions as ask
from kschedctl.web.questions.question import Body, Question

_POD: Final = "/pods/{namespace}/{name}"

#: The questions, in the order of the API's document.
QUESTIONS: Final[tuple[Question, ...]] = (
    Question("/cluster", ask.show_cluster, (lists.ClusterSummary,)),
    Question("/nodes", ask.list_nodes, (nodes.NodesOverview,)),
    Question("/nodes/{name}", ask.show_node, (nodes.NodeDescription,)),
    Question("/pods", ask.show_pods, (lists.PodsOverview,)),
    Question(f"{_POD}/explain", ask.explain_pod, (explain.Explanation,)),
    Question(f"{_POD}/preempt", ask.preempt_pod, (preempt.Preemption,)),
    Question(f"{_POD}/volumes", ask.show_pod_volumes, (volumes.PodVolumes,)),
    Question("/pending", ask.show_pending, (pending.Pending,)),
    Question("/workloads", ask.show_workloads, (lists.WorkloadsOverview,)),
    Question("/workloads/{kind}/{namespace}/{name}", ask.show_workload, (lists.WorkloadDescription,)),
    Question("/budgets", ask.show_budgets, (lists.BudgetsOverview,)),
    Question("/budgets/{namespace}/{name}", ask.show_budget, (lists.BudgetDescription,)),
    Question("/volumes", ask.show_claims, (volumes.VolumesList,)),
    Question("/volumes/{namespace}/{name}", ask.show_claim, (volumes.ClaimVolumes,)),
    Question("/devices", ask.show_devices, (devices.DevicesOverview,)),
    Question("/devices/claims/{namespace}/{name}", ask.show_device_claim, (devices.DeviceSupply,)),
    Question("/devices/classes/{name}", ask.show_device_class, (devices.DeviceSupply,)),
    Question("/leader", ask.show_leaders, (leader.LeaderOverview,), what_ifs=False),
    Question("/search", ask.find_objects, (lists.SearchResults,)),
    Question(
        "/explain",
        ask.explain_manifest,
        (explain.Explanation, explain.ExplanationList),
        method="POST",
        body=Body.REQUIRED,
    ),
    Question("/lint", ask.lint_manifest, (lint.LintReport,), method="POST", body=Body.REQUIRED),
    Question(
        "/simulate",
        ask.simulate_queue,
        (simulate.Simulated,),
        method="POST",
        body=Body.OPTIONAL,
        is_job=True,
        find=ask.queued_cluster,
    ),
    Question(
        "/capacity",
        ask.count_copies,
        (capacity.PodCapacity, capacity.CapacityList),
        method="POST",
        body=Body.OPTIONAL,
        is_job=True,
        check=ask.require_pod,
        find=ask.asked_pods,
    ),
    Question("/diff", ask.compare, (diff.Diff,), method="POST", is_job=True, find=ask.other_snapshot),
    *(
        Question.of(method.request, ANSWERS[name])
        for name, method in vars(SchedulingCluster).items()
        if isinstance(method, Method) and method.request.path
    ),
)
#: The questions by name.
BY_NAME: Final[Mapping[str, Question]] = MappingProxyType({question.name: question for question in QUESTIONS})
