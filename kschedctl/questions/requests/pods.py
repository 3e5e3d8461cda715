"""The pods that a request is about: named, in manifests, or selected by namespace and labels, as with kubectl."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.pods import Pods
from kschedctl.cluster.records import PENDING
from kschedctl.common.errors import InputError, ManifestError
from kschedctl.common.wording import listed
from kschedctl.objects.defaults import DEFAULT_SCHEDULER_NAME
from kschedctl.objects.selectors import matches, parse_label_query
from kschedctl.questions.analyses.handle import AnalysisHandle
from kschedctl.questions.analyses.subjects import PodSubject
from kschedctl.questions.face import SchedulingCluster
from kschedctl.questions.requests.cluster import ClusterRequest
from kschedctl.questions.requests.group_names import named_member, names_group
from kschedctl.questions.requests.manifests import ManifestRequest, Manifests, read_manifests
from kschedctl.questions.requests.scope import NamespaceScope, SubjectRequest
from kschedctl.questions.requests.workload_names import named_workload, workload_kind
from kschedctl.sources.snapshot.pod_choice import find_pod, is_manifest
from kschedctl.trials.completeness import require_listed

POD_PREFIXES: Final = ("pod/", "pods/", "po/")


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRequest(SubjectRequest):
    """The pods that a request is about; the pending ones if none are named or selected by labels."""

    @property
    def pod_names(self) -> list[str]:
        """The names of single pods among the arguments."""
        return [name for name in self.names if not is_manifest(name) and not workload_kind(name)]

    @property
    def workload_names(self) -> list[str]:
        """The names of workloads among the arguments."""
        return [name for name in self.names if not is_manifest(name) and workload_kind(name)]

    def read_manifests(self, cluster: ClusterRequest, handle: AnalysisHandle) -> Manifests:
        """Read the manifests among the arguments.

        Raises
        ------
        InputError
            If the manifests cannot be read, or pods are named and a selector is given as well.
        """
        if self.named and self.selector:
            raise InputError("names of pods and a selector are given", hint="give only one of them")
        request = ManifestRequest(
            paths=tuple(text for text in self.names if is_manifest(text)),
            filenames=self.filenames,
            namespace=self.scope.given,
            validation=self.validation,
        )
        return read_manifests(request, cluster, handle)

    def load(self, handle: AnalysisHandle) -> tuple[SchedulingCluster, list[PodSubject]]:
        """Load the cluster and find the pods.

        Raises
        ------
        KschedctlError
            If the cluster or a manifest cannot be read, or there is no such pod, or the pods could not be listed.
        """
        manifests = self.read_manifests(self.cluster, handle)
        namespace = next(map(_namespace_in, self.pod_names), "")
        cluster = self.cluster.reading(namespace).load(handle, manifests.others, manifests.written)
        if self.pod_names or not self.named:
            require_listed(cluster.cluster, "Pod")
        cluster = self.cluster.require_nodes(cluster)
        workloads = [named_workload(cluster.cluster, name, self.scope) for name in self.workload_names]
        cluster, given = manifests.beside(workloads).pods(cluster, handle)
        asked = [*given, *(self._named(cluster.cluster, name) for name in self.pod_names)]
        if not self.named:
            asked = self.selected(cluster.pods)
            if not asked:
                raise self.nothing_found(cluster.pods)
        return cluster, self.answerable(asked, handle, cluster.configuration.profiles)

    def _named(self, cluster: Cluster, text: str) -> PodSubject:
        if names_group(text):
            return named_member(cluster, text, self.scope)
        try:
            return self.named_pod(cluster.pods, text)
        except ManifestError:
            require_listed(cluster, "Pod", _namespace_in(text) or self.scope.namespace or "")
            raise

    def named_pod(self, pods: Pods, text: str) -> PodSubject:
        """Return the pod of the cluster that an argument names; errors are those of the function ``named_pod``."""
        return named_pod(pods, text, self.scope)

    def selected(self, pods: Pods, *, running: bool = False) -> list[PodSubject]:
        """Return the pods that match the selector, or the pending ones without it, in the order of the snapshot.

        Parameters
        ----------
        running : bool
            True to select running pods as well, if no selector is given.
        """
        namespace = self.scope.selected
        return [
            PodSubject(pods.pod(index))
            for index in self._matching(pods, running=running)
            if namespace in (None, pods.records[index].metadata.namespace)
        ]

    def _matching(self, pods: Pods, *, running: bool) -> Iterator[int]:
        """Yield the pods of all namespaces that would be selected."""
        query = parse_label_query(self.selector) if self.selector else None
        for index, record in enumerate(pods.records):
            if running or pods.node_row[index] == PENDING if query is None else matches(query, record.metadata.labels):
                yield index

    def nothing_found(
        self, *sides: Pods, hint: str = "name a pod (NAMESPACE/NAME) or a manifest", running: bool = False
    ) -> InputError:
        """Return the error for a selection without a pod, with the namespaces that have some.

        Parameters
        ----------
        *sides : Pods
            The pods of each cluster.
        running : bool
            As in ``selected``.
        """
        what = f"has the labels {self.selector}" if self.selector else "is pending"
        problem = (
            f"there is no pod in {self.scope}" if running and not self.selector else f"no pod in {self.scope} {what}"
        )
        found = {pods.key(index) for pods in sides for index in self._matching(pods, running=running)}
        if found:
            counts = Counter(key.partition("/")[0] for key in sorted(found))
            names = listed([f"{name} ({number})" for name, number in counts.most_common()])
            hint += f"; there are such pods in {names}: give -n or -A"
        return InputError(problem, hint=hint)

    def answerable(
        self, asked: list[PodSubject], handle: AnalysisHandle, *profiles: Container[str]
    ) -> list[PodSubject]:
        """Return the pods that one of the profiles is responsible for; the others are named in a note.

        If no profile is responsible for any of the named pods, all are returned: the decision for each explains this.

        Raises
        ------
        InputError
            If no profile is responsible for any of the selected pods.
        """
        kept: list[PodSubject] = []
        others: dict[str, list[str]] = defaultdict(list)
        for one in asked:
            # The pod of a template or manifest may lack the default of an API server.
            name = one.pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME
            if any(name in known for known in profiles):
                kept.append(one)
            else:
                others[name].append(one.pod.key)
        if not kept and self.named:
            return asked
        text = "; ".join(f"{listed(keys)} ({name})" for name, keys in others.items())
        if not kept:
            hint = "give a configuration with its profile: --config"
            raise InputError(f"another scheduler is responsible for all pods: {text}", hint=hint)
        if others:
            handle.note(f"skipped, as another scheduler is responsible: {text}")
        return kept


def _namespace_in(text: str) -> str:
    """Return the namespace in the name of a pod; empty if it has none."""
    return "" if text.startswith(POD_PREFIXES) else text.rpartition("/")[0]


def named_pod(pods: Pods, text: str, scope: NamespaceScope) -> PodSubject:
    """Return the pod of the cluster that an argument names.

    Raises
    ------
    InputError
        If there is no such pod, or the argument is not a pod's name.
    """
    forms = "NAMESPACE/NAME, pod/NAME, NAME or the path of a manifest"
    name, namespace = scope.split(text, "pod", forms, POD_PREFIXES)
    try:
        pod = find_pod(pods, name, namespace)
    except ManifestError as error:
        if Path(text).is_dir():
            raise ManifestError(error.findings[0].problem, hint=f"the folder with that name is {text}/") from None
        raise
    return PodSubject(pod)
