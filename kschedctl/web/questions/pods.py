"""Questions about single pods of the cluster, and about pods of manifests."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kschedctl.questions.answer import Answer
from kschedctl.questions.explain.analysis import ExplainRequest, explain
from kschedctl.questions.explain.answer import ExplanationList
from kschedctl.questions.face import SchedulingCluster
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.pod_selection import PodRequest
from kschedctl.questions.preempt.analysis import PreemptRequest, preempt
from kschedctl.questions.preempt.answer import PreemptionList
from kschedctl.questions.provenance import PodSubject
from kschedctl.sources.snapshot.files import STDIN
from kschedctl.sources.snapshot.pod_choice import find_pod
from kschedctl.trials.completeness import require_listed
from kschedctl.web.errors import not_found
from kschedctl.web.questions.asked import Asked, Name, Namespace, ObjectQuery, Query, Seed

_NodeNames = Annotated[tuple[str, ...], Meta(description="Show these nodes only.", max_length=100)]
_Suggest = Annotated[
    Annotated[int, Meta(ge=0, le=20)] | None,
    Meta(description="Search for up to N changes with which the pod would fit; by default 5, 0 for many pods."),
]


class ExplainOptions(Query, frozen=True, kw_only=True):
    """The options of an explanation."""

    node: _NodeNames = ()
    why: Annotated[bool, Meta(description="Add comparisons and arithmetic of the nodes of `node`.")] = False
    suggest: _Suggest = None
    prefer: Annotated[str, Meta(description="Search for changes that would move the pod to this node.")] = ""
    withstand: Annotated[bool, Meta(description="Add the failures that the pod survives.")] = False
    sampling: Annotated[
        bool, Meta(description="End the search for feasible nodes as kube-scheduler does, from every possible start.")
    ] = False
    seed: Seed = None

    def request(self, pods: list[PodSubject]) -> ExplainRequest:
        """Return the request of the analysis."""
        return ExplainRequest(
            pods=tuple(pods),
            nodes=self.node,
            stories=self.why,
            suggest=self.suggest,
            prefer=self.prefer,
            withstand=self.withstand,
            sampling=self.sampling,
            seed=self.seed,
        )


class ExplainPodQuery(ExplainOptions, frozen=True, kw_only=True):
    """The pod to explain, and the options."""

    namespace: Namespace
    name: Name


class ExplainManifestQuery(ExplainOptions, frozen=True, kw_only=True):
    """The options of an explanation of manifests."""

    namespace: Annotated[str, Meta(description="Namespace of objects that do not set one.")] = ""


class PreemptPodQuery(ObjectQuery, frozen=True, kw_only=True):
    """The pod that would evict others, and the options."""

    seed: Seed = None


def explain_pod(cluster: SchedulingCluster, asked: Asked[ExplainPodQuery], handle: AnalysisHandle) -> Answer:
    """Explain where kube-scheduler would schedule a pod of the cluster, or why it cannot."""
    changed = asked.over(cluster, handle)
    pod = pod_of(changed, asked.query.namespace, asked.query.name)
    return next(explain(changed, asked.query.request([pod]), handle))


def explain_manifest(cluster: SchedulingCluster, asked: Asked[ExplainManifestQuery], handle: AnalysisHandle) -> Answer:
    """Explain where kube-scheduler would schedule the pods of a manifest, or why it cannot."""
    changed, pods = new_pods(cluster, asked, asked.query.namespace, handle)
    answers = tuple(explain(changed, asked.query.request(pods), handle))
    return answers[0] if len(answers) == 1 else ExplanationList(items=answers)


def preempt_pod(cluster: SchedulingCluster, asked: Asked[PreemptPodQuery], handle: AnalysisHandle) -> Answer:
    """Show which pods kube-scheduler would evict to schedule a pod of the cluster, on which node, and why."""
    changed = asked.over(cluster, handle)
    pod = pod_of(changed, asked.query.namespace, asked.query.name)
    answers = preempt(changed, PreemptRequest(pods=(pod,), seed=asked.query.seed), handle)
    return answers[0] if len(answers) == 1 else PreemptionList(items=answers)


def pod_of(cluster: SchedulingCluster, namespace: str, name: str) -> PodSubject:
    """Return a pod of the cluster.

    Raises
    ------
    NotFoundError
        If there is no such pod.
    ClusterError
        If the pods could not be listed.
    """
    require_listed(cluster.cluster, "Pod")
    with not_found():
        return PodSubject(find_pod(cluster.pods, name, namespace))


def new_pods(
    cluster: SchedulingCluster, asked: Asked[Query], namespace: str, handle: AnalysisHandle
) -> tuple[SchedulingCluster, list[PodSubject]]:
    """Return the cluster with the changes to try and the manifests' other objects, and the pods of the manifests.

    Raises
    ------
    InputError
        If the manifests cannot be read, or an API server would refuse them.
    """
    manifests = asked.manifests(handle, namespace)
    changed, pods = manifests.pods(asked.over(cluster, handle, manifests.others), handle)
    named = PodRequest(filenames=(STDIN,))
    return changed, named.answerable(pods, handle, changed.configuration.profiles)
