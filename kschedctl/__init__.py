"""An offline reproduction of kube-scheduler: its exact decision for a pod, and the reasons.

>>> import kschedctl
>>> cluster = kschedctl.load("fixtures/shop/cluster")
>>> cluster.decide("shop/web-7")
<Decision shop/web-7: scheduled to node-8, fits on 5 of 15 nodes>
>>> cluster.decide("shop/web-7").node("gpu-1")
<NodeVerdict gpu-1: TaintToleration: node(s) had untolerated taint(s)>
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kschedctl.cluster.cluster import Cluster
    from kschedctl.cluster.nodes import Nodes
    from kschedctl.cluster.pods import Pods
    from kschedctl.common.errors import ClusterError, InputError, KschedctlError, UnsupportedError
    from kschedctl.common.findings import Finding, Location, ObjectRef, Severity, Subject
    from kschedctl.controllers.admission.changes import Admitted
    from kschedctl.controllers.workloads.template import MadePod
    from kschedctl.diagnosis.why.proof import Suggestion
    from kschedctl.objects.meta import ApiObject
    from kschedctl.objects.pod import Pod
    from kschedctl.objects.releases.release import Release
    from kschedctl.questions.answer import Answer, AnswerOutcome
    from kschedctl.questions.capacity.answer import PodCapacity
    from kschedctl.questions.consolidate.answer import Consolidated
    from kschedctl.questions.devices.answer import DevicesOverview, DeviceSupply
    from kschedctl.questions.diff.answer import Diff
    from kschedctl.questions.drain.answer import Drained
    from kschedctl.questions.explain.answer import Explanation
    from kschedctl.questions.functions import case_configuration, decide_cases, lint, rules, run_sweep
    from kschedctl.questions.handle import AnalysisHandle, CancelledError
    from kschedctl.questions.leader.answer import LeaderOverview
    from kschedctl.questions.lint.answer import LintReport, RulePages
    from kschedctl.questions.nodes.answer import NodeDescription, NodesOverview
    from kschedctl.questions.optimum.answer import Emptied, Optimum, Purchased
    from kschedctl.questions.optimum.request import Minimized
    from kschedctl.questions.pending.answer import Pending
    from kschedctl.questions.preempt.answer import Preemption, Threat
    from kschedctl.questions.provision.answer import Provisioning
    from kschedctl.questions.rollout.answer import RolledOut
    from kschedctl.questions.scheduling_cluster import NodeList, PodList, SchedulingCluster, load
    from kschedctl.questions.simulate.answer import Simulated
    from kschedctl.questions.snapshot.analysis import snapshot_info
    from kschedctl.questions.snapshot.answer import SnapshotInfo
    from kschedctl.questions.sweep.answer import Sweep
    from kschedctl.questions.verify.answer import Verification
    from kschedctl.questions.volumes.answer import ClaimVolumes, PodVolumes
    from kschedctl.scheduler.cycle.decision import Decision, NodeVerdict
    from kschedctl.scheduler.cycle.outcome import Outcome
    from kschedctl.scheduler.cycle.scheduler import Scheduler
    from kschedctl.scheduler.framework.config.load import SchedulerConfiguration
    from kschedctl.scheduler.framework.cycle_state import NotModelled
    from kschedctl.scheduler.framework.remedy import Remedy
    from kschedctl.scheduler.preemption.result import Candidate, PreemptionResult
    from kschedctl.sources.live.kubeconfig import LiveContext
    from kschedctl.trials.completeness import Missing
    from kschedctl.trials.loaded_cluster import LoadedCluster
    from kschedctl.trials.optimum.final_goal import FinalGoal
    from kschedctl.trials.simulate.aftermath import Aftermath
    from kschedctl.trials.simulate.attempts import Attempt
    from kschedctl.trials.simulate.simulation import Simulation
    from kschedctl.trials.simulate.timeline import TimelineEntry
    from kschedctl.trials.simulate.world import World
    from kschedctl.trials.whatif.edit import PodEdit
    from kschedctl.trials.whatif.edits import (
        Apply,
        Cordon,
        Delete,
        Drain,
        DropConstraint,
        Edit,
        FailZone,
        LabelNode,
        SetNodeSelector,
        SetPriority,
        SetReplicas,
        SetRequest,
        TaintNode,
        Tolerate,
    )

    __version__: str

__all__ = [
    "Admitted",
    "Aftermath",
    "AnalysisHandle",
    "Answer",
    "AnswerOutcome",
    "ApiObject",
    "Apply",
    "Attempt",
    "CancelledError",
    "Candidate",
    "ClaimVolumes",
    "Cluster",
    "ClusterError",
    "Consolidated",
    "Cordon",
    "Decision",
    "Delete",
    "DeviceSupply",
    "DevicesOverview",
    "Diff",
    "Drain",
    "Drained",
    "DropConstraint",
    "Edit",
    "Emptied",
    "Explanation",
    "FailZone",
    "FinalGoal",
    "Finding",
    "InputError",
    "KschedctlError",
    "LabelNode",
    "LeaderOverview",
    "LintReport",
    "LiveContext",
    "LoadedCluster",
    "Location",
    "MadePod",
    "Minimized",
    "Missing",
    "NodeDescription",
    "NodeList",
    "NodeVerdict",
    "Nodes",
    "NodesOverview",
    "NotModelled",
    "ObjectRef",
    "Optimum",
    "Outcome",
    "Pending",
    "Pod",
    "PodCapacity",
    "PodEdit",
    "PodList",
    "PodVolumes",
    "Pods",
    "Preemption",
    "PreemptionResult",
    "Provisioning",
    "Purchased",
    "Release",
    "Remedy",
    "RolledOut",
    "RulePages",
    "Scheduler",
    "SchedulerConfiguration",
    "SchedulingCluster",
    "SetNodeSelector",
    "SetPriority",
    "SetReplicas",
    "SetRequest",
    "Severity",
    "Simulated",
    "Simulation",
    "SnapshotInfo",
    "Subject",
    "Suggestion",
    "Sweep",
    "TaintNode",
    "Threat",
    "TimelineEntry",
    "Tolerate",
    "UnsupportedError",
    "Verification",
    "World",
    "__version__",
    "case_configuration",
    "decide_cases",
    "lint",
    "load",
    "rules",
    "run_sweep",
    "snapshot_info",
]

_HOMES = {
    "Admitted": "kschedctl.controllers.admission.changes",
    "Aftermath": "kschedctl.trials.simulate.aftermath",
    "Answer": "kschedctl.questions.answer",
    "AnswerOutcome": "kschedctl.questions.answer",
    "ApiObject": "kschedctl.objects.meta",
    "Apply": "kschedctl.trials.whatif.edits",
    "Attempt": "kschedctl.trials.simulate.attempts",
    "CancelledError": "kschedctl.questions.handle",
    "Candidate": "kschedctl.scheduler.preemption.result",
    "ClaimVolumes": "kschedctl.questions.volumes.answer",
    "Cluster": "kschedctl.cluster.cluster",
    "ClusterError": "kschedctl.common.errors",
    "Consolidated": "kschedctl.questions.consolidate.answer",
    "Cordon": "kschedctl.trials.whatif.edits",
    "Decision": "kschedctl.scheduler.cycle.decision",
    "Delete": "kschedctl.trials.whatif.edits",
    "DeviceSupply": "kschedctl.questions.devices.answer",
    "DevicesOverview": "kschedctl.questions.devices.answer",
    "Diff": "kschedctl.questions.diff.answer",
    "Drain": "kschedctl.trials.whatif.edits",
    "Drained": "kschedctl.questions.drain.answer",
    "DropConstraint": "kschedctl.trials.whatif.edits",
    "Edit": "kschedctl.trials.whatif.edits",
    "Emptied": "kschedctl.questions.optimum.answer",
    "Explanation": "kschedctl.questions.explain.answer",
    "FailZone": "kschedctl.trials.whatif.edits",
    "FinalGoal": "kschedctl.trials.optimum.final_goal",
    "Finding": "kschedctl.common.findings",
    "AnalysisHandle": "kschedctl.questions.handle",
    "InputError": "kschedctl.common.errors",
    "KschedctlError": "kschedctl.common.errors",
    "LabelNode": "kschedctl.trials.whatif.edits",
    "LeaderOverview": "kschedctl.questions.leader.answer",
    "LintReport": "kschedctl.questions.lint.answer",
    "LiveContext": "kschedctl.sources.live.kubeconfig",
    "LoadedCluster": "kschedctl.trials.loaded_cluster",
    "Location": "kschedctl.common.findings",
    "MadePod": "kschedctl.controllers.workloads.template",
    "Minimized": "kschedctl.questions.optimum.request",
    "Missing": "kschedctl.trials.completeness",
    "NodeList": "kschedctl.questions.scheduling_cluster",
    "PodList": "kschedctl.questions.scheduling_cluster",
    "NodeDescription": "kschedctl.questions.nodes.answer",
    "NodeVerdict": "kschedctl.scheduler.cycle.decision",
    "Nodes": "kschedctl.cluster.nodes",
    "NodesOverview": "kschedctl.questions.nodes.answer",
    "NotModelled": "kschedctl.scheduler.framework.cycle_state",
    "ObjectRef": "kschedctl.common.findings",
    "Optimum": "kschedctl.questions.optimum.answer",
    "Outcome": "kschedctl.scheduler.cycle.outcome",
    "Pending": "kschedctl.questions.pending.answer",
    "Pod": "kschedctl.objects.pod",
    "PodCapacity": "kschedctl.questions.capacity.answer",
    "PodEdit": "kschedctl.trials.whatif.edit",
    "PodVolumes": "kschedctl.questions.volumes.answer",
    "Pods": "kschedctl.cluster.pods",
    "Preemption": "kschedctl.questions.preempt.answer",
    "PreemptionResult": "kschedctl.scheduler.preemption.result",
    "Provisioning": "kschedctl.questions.provision.answer",
    "Purchased": "kschedctl.questions.optimum.answer",
    "Release": "kschedctl.objects.releases.release",
    "Remedy": "kschedctl.scheduler.framework.remedy",
    "RolledOut": "kschedctl.questions.rollout.answer",
    "RulePages": "kschedctl.questions.lint.answer",
    "Scheduler": "kschedctl.scheduler.cycle.scheduler",
    "SchedulerConfiguration": "kschedctl.scheduler.framework.config.load",
    "SchedulingCluster": "kschedctl.questions.scheduling_cluster",
    "SetNodeSelector": "kschedctl.trials.whatif.edits",
    "SetPriority": "kschedctl.trials.whatif.edits",
    "SetReplicas": "kschedctl.trials.whatif.edits",
    "SetRequest": "kschedctl.trials.whatif.edits",
    "Severity": "kschedctl.common.findings",
    "Simulated": "kschedctl.questions.simulate.answer",
    "Simulation": "kschedctl.trials.simulate.simulation",
    "SnapshotInfo": "kschedctl.questions.snapshot.answer",
    "Subject": "kschedctl.common.findings",
    "Suggestion": "kschedctl.diagnosis.why.proof",
    "Sweep": "kschedctl.questions.sweep.answer",
    "TaintNode": "kschedctl.trials.whatif.edits",
    "Threat": "kschedctl.questions.preempt.answer",
    "TimelineEntry": "kschedctl.trials.simulate.timeline",
    "Tolerate": "kschedctl.trials.whatif.edits",
    "UnsupportedError": "kschedctl.common.errors",
    "Verification": "kschedctl.questions.verify.answer",
    "World": "kschedctl.trials.simulate.world",
    "case_configuration": "kschedctl.questions.functions",
    "decide_cases": "kschedctl.questions.functions",
    "lint": "kschedctl.questions.functions",
    "load": "kschedctl.questions.scheduling_cluster",
    "rules": "kschedctl.questions.functions",
    "run_sweep": "kschedctl.questions.functions",
    "snapshot_info": "kschedctl.questions.snapshot.analysis",
}


def __getattr__(name: str) -> object:
    """Import a public name on first use, so that ``import kschedctl`` stays cheap."""
    if name == "__version__":
        from importlib.metadata import version

        return version("kschedctl")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
