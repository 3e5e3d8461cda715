"""Two clusters that a request names, and the pods that are compared between them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from msgspec import structs

from kschedctl.common.errors import InputError
from kschedctl.questions.cluster_request import ClusterRequest
from kschedctl.questions.diff.analysis import DiffRequest, found_on
from kschedctl.questions.diff.sides import Key
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.manifests import Manifests, ObjectSubject
from kschedctl.questions.pod_selection import PodRequest, named_workload
from kschedctl.questions.provenance import PodSubject
from kschedctl.trials.completeness import require_listed
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.whatif.targets import require_namespace


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRequest:
    """Pods that are compared between two clusters."""

    #: The pods, and the first cluster.
    pods: PodRequest
    #: The second cluster.
    other: ClusterRequest
    #: True to select running pods as well as pending ones.
    all_pods: bool = False

    def load(self, handle: AnalysisHandle) -> tuple[LoadedCluster, DiffRequest]:
        """Load both clusters and find the pods; each pod is in at least one of the clusters.

        Raises KschedctlError as ``PodRequest.load``.
        """
        if self.pods.named and self.all_pods:
            raise InputError("names of pods and --all-pods are given", hint="give only one of them")
        first, second = self.pods.cluster, self.other
        same = second.source == first.source
        paths = (*first.source.paths, *(() if same else second.source.paths))
        everything = replace(second, source=replace(first.source, paths=paths))
        manifests = self.pods.read_manifests(everything, handle)
        snapshot = first.read(handle)
        other = snapshot if same else second.read(handle)
        old, new = (
            request.require_nodes(request.over(read, handle, manifests.others, manifests.written))
            for request, read in ((first, snapshot), (second, other))
        )
        accepted = manifests.accepted(old, handle)
        if new.release_choice.release != old.release_choice.release:
            manifests.accepted(new, handle)
        workloads: tuple[list[ObjectSubject], list[ObjectSubject]] = [], []
        for name in self.pods.workload_names:
            find = partial(_workload, self.pods, name)
            for own, found in zip(workloads, found_on((old, new), find), strict=True):
                own += [found] if found is not None else []
        (old, new_of_old), (new, new_of_new) = (
            _with_pods(side, accepted.beside(own), handle) for side, own in zip((old, new), workloads, strict=True)
        )
        new_pods = new_of_old, new_of_new
        keys = self._keys((old, new), new_pods, handle)
        return old, DiffRequest(other=new, pods=keys, new_pods=new_pods, configs=(first.config, second.config))

    def _keys(
        self,
        sides: tuple[LoadedCluster, LoadedCluster],
        new_pods: tuple[Mapping[Key, PodSubject], Mapping[Key, PodSubject]],
        handle: AnalysisHandle,
    ) -> tuple[Key, ...]:
        pods = self.pods
        if pods.pod_names or not pods.named:
            for side in sides:
                require_listed(side.cluster, "Pod")
        asked = {**new_pods[1], **new_pods[0]}
        for name in pods.pod_names:
            one = next(filter(None, found_on(sides, partial(_pod, pods, name))))
            asked[_pod_key(one)] = one
        if not pods.named:
            for side in sides:
                for one in pods.selected(side.pods, running=self.all_pods):
                    asked.setdefault(_pod_key(one), one)
            if not asked and (self.all_pods or pods.selector):
                raise pods.nothing_found(*(side.pods for side in sides), hint="name a pod", running=self.all_pods)
            if not asked:
                require_namespace(sides[0].cluster, pods.scope.given)
                pods.note_elsewhere([side.pods for side in sides], handle)
                return ()
        profiles = (side.configuration.profiles for side in sides)
        kept = set(map(id, pods.answerable(list(asked.values()), handle, *profiles)))
        return tuple(key for key, one in asked.items() if id(one) in kept)


def _pod_key(one: PodSubject) -> Key:
    return one.pod.metadata.namespace, one.pod.metadata.name


def _pod(pods: PodRequest, name: str, side: LoadedCluster) -> PodSubject:
    return pods.named_subject(side.cluster, name)


def _workload(pods: PodRequest, name: str, side: LoadedCluster) -> ObjectSubject:
    return structs.replace(named_workload(side.cluster, name, pods.scope), as_new=True)


def _with_pods(
    side: LoadedCluster, manifests: Manifests, handle: AnalysisHandle
) -> tuple[LoadedCluster, dict[Key, PodSubject]]:
    """Return a side with the pods' own objects created, and its pods by key; a DaemonSet's pods are keyed by node."""
    side, asked = manifests.pods(side, handle)
    return side, {
        (one.pod.metadata.namespace, f"{one.workload.name} on {one.node}")
        if one.workload is not None and one.node
        else _pod_key(one): one
        for one in asked
    }
