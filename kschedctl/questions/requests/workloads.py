"""The workload that a request is about: one of the cluster, or one of a manifest."""

from __future__ import annotations

from dataclasses import dataclass, field

from kschedctl.common.errors import InputError, ManifestError
from kschedctl.common.wording import listed
from kschedctl.questions.analyses.handle import AnalysisHandle
from kschedctl.questions.face import SchedulingCluster
from kschedctl.questions.requests.cluster import ClusterRequest
from kschedctl.questions.requests.manifests import ManifestRequest, Manifests, ObjectSubject, read_manifests
from kschedctl.questions.requests.scope import NamespaceScope
from kschedctl.questions.requests.workload_names import named_workload, workload_kind
from kschedctl.sources.snapshot.decoding import Validation
from kschedctl.sources.snapshot.pod_choice import is_manifest
from kschedctl.trials.completeness import require_listed
from kschedctl.trials.simulate.rollout import ROLLED, restarted


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadRequest:
    """The workload that a rollout is about.

    Attributes
    ----------
    cluster : ClusterRequest
        The cluster that has the workload.
    name : str
        ``KIND/NAME``, or the path of a manifest; empty for the only workload of the manifests.
    filenames : tuple of str
        Paths of manifests with the new template; without any, the template is rolled out once more.
    namespace : str
        The namespace; empty for the default.
    all_namespaces : bool
        True to look in all namespaces.
    validation : Validation
        The handling of unknown and duplicate fields of manifests, as with kubectl's ``--validate``.
    """

    cluster: ClusterRequest = field(default_factory=ClusterRequest)
    name: str = ""
    filenames: tuple[str, ...] = ()
    namespace: str = ""
    all_namespaces: bool = False
    validation: Validation = Validation.STRICT

    def load(self, handle: AnalysisHandle) -> tuple[SchedulingCluster, ObjectSubject]:
        """Load the cluster and find the workload with its new template.

        Raises
        ------
        KschedctlError
            If the cluster or a manifest cannot be read, or the request names no workload or several.
        """
        is_path = is_manifest(self.name)
        scope = NamespaceScope.of(self.namespace, self.cluster.source, everywhere=self.all_namespaces)
        request = ManifestRequest(
            paths=(self.name,) if is_path else (),
            filenames=self.filenames,
            namespace=scope.given,
            validation=self.validation,
        )
        manifests = read_manifests(request, self.cluster, handle)
        cluster = self.cluster.load(handle, manifests.others, manifests.written)
        require_listed(cluster.cluster, "Pod")
        cluster = self.cluster.require_nodes(cluster)
        name = "" if is_path else self.name
        if name and not workload_kind(name):
            raise InputError(f'"{name}" is not the name of a workload', hint="give deploy/NAME or sts/NAME")
        if manifests.asked:
            return cluster, _chosen(manifests, name)
        found = named_workload(cluster.cluster, name, scope)
        return cluster, ObjectSubject(restarted(found.obj), found.arguments)


def _chosen(manifests: Manifests, name: str) -> ObjectSubject:
    rolled = [asked for asked in manifests.asked if isinstance(asked.obj, ROLLED)]
    if name:
        kind, own = workload_kind(name), name.partition("/")[2]
        rolled = [asked for asked in rolled if type(asked.obj) is kind and asked.obj.name == own]
    if len(rolled) == 1:
        return rolled[0]
    if not rolled and len(manifests.asked) == 1 and not name:
        # The analysis reports the unsupported kind.
        return manifests.asked[0]
    what = listed([asked.shown for asked in rolled or manifests.asked])
    if rolled:
        raise ManifestError(f"the manifests contain {what}", hint="name one of them, such as deploy/web")
    raise ManifestError(f"the manifests contain no {name or 'Deployment or StatefulSet'}", hint=f"they contain {what}")
