"""The claims and pods that ``volumes`` is about, and the claims and classes that ``devices`` is about."""

from typing import Final, cast

from kschedctl.common.errors import InputError
from kschedctl.common.wording import similar
from kschedctl.objects.device import DeviceClass, ResourceClaim
from kschedctl.objects.kinds import kind_by_name
from kschedctl.objects.pod import Pod
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.manifests import ManifestRequest, ObjectSubject, read_manifests
from kschedctl.questions.pod_selection import NamespaceScope, SubjectRequest, claim_of_volume, named_pod
from kschedctl.questions.provenance import PodSubject
from kschedctl.questions.volumes.analysis import ClaimSubject
from kschedctl.sources.snapshot.pod_choice import is_manifest
from kschedctl.trials.completeness import require_listed
from kschedctl.trials.loaded_cluster import LoadedCluster

_CLAIM_FORMS: Final = "NAMESPACE/NAME, pvc/NAME, pv/NAME, pod/NAME, NAME or the path of a manifest"
_DEVICE_FORMS: Final = "NAMESPACE/NAME, claim/NAME, class/NAME or NAME"


class ClaimRequest(SubjectRequest, frozen=True, kw_only=True):
    """The claims and pods that ``volumes`` is about; all claims in scope if none are named."""

    def load(self, handle: AnalysisHandle) -> tuple[LoadedCluster, list[ClaimSubject | PodSubject]]:
        """Load the cluster and find the claims and pods.

        Raises KschedctlError if the cluster or a manifest cannot be read, or there is no such claim or pod.
        """
        if self.named and self.selector:
            raise InputError("names of claims and a selector are given", hint="give only one of them")
        paths = tuple(text for text in self.names if is_manifest(text))
        request = ManifestRequest(
            paths=paths,
            filenames=self.filenames,
            namespace=self.scope.given,
            validation=self.validation,
            argument="names",
        )
        manifests = read_manifests(request, self.cluster, handle, otherwise=PersistentVolumeClaim)
        cluster, pods = manifests.pods(self.cluster.load(handle, manifests.others), handle)
        if not self.named:
            require_listed(cluster.cluster, "PersistentVolumeClaim")
            claims = self.scope.select(cluster.cluster.list(PersistentVolumeClaim), self.selector)
            if not claims:
                with_labels = f" with the labels {self.selector}" if self.selector else ""
                is_all = self.scope.selected is None
                where = "the snapshot" if is_all else str(self.scope)
                hint = "" if is_all else "-A includes all namespaces"
                raise InputError(f"{where} has no claims{with_labels}", hint=hint)
            return cluster, list(map(ClaimSubject, claims))
        subjects: list[ClaimSubject | PodSubject] = [*pods]
        subjects += [_stored(cluster, asked) for asked in manifests.otherwise]
        subjects += [claim_or_pod(cluster, name, self.scope) for name in self.names if name not in paths]
        return cluster, subjects


def _stored(cluster: LoadedCluster, asked: ObjectSubject) -> ClaimSubject:
    """Return a manifest's claim as the cluster stores it, with defaults set."""
    own = cast("PersistentVolumeClaim", asked.obj)
    return ClaimSubject(cluster.cluster.get(PersistentVolumeClaim, own.name, own.namespace) or own, asked.arguments)


def claim_or_pod(cluster: LoadedCluster, text: str, scope: NamespaceScope) -> ClaimSubject | PodSubject:
    """Return the claim or pod that an argument names; the claim if there are both."""
    word = text.partition("/")[0] if "/" in text else ""
    kind = kind_by_name(word)
    of_claims = kind is PersistentVolumeClaim
    if kind is not Pod:
        require_listed(cluster.cluster, "PersistentVolumeClaim")
        if kind is PersistentVolume:
            return ClaimSubject(claim_of_volume(cluster.cluster, text.removeprefix(f"{word}/")))
        name, namespace = scope.split(text, PersistentVolumeClaim, _CLAIM_FORMS)
        claims = [c for c in cluster.cluster.list(PersistentVolumeClaim) if c.name == name]
        claims = [claim for claim in claims if namespace in (None, claim.namespace)]
        if len(claims) == 1:
            return ClaimSubject(claims[0])
        if claims:
            names = ", ".join(f"{claim.namespace}/{claim.name}" for claim in claims)
            raise InputError(
                f"the snapshot has {len(claims)} claims with the name {name}", hint=f"name one of them: {names}"
            )
        pods = [key for key in cluster.pods.index if key[1] == name and namespace in (None, key[0])]
        if not of_claims and not pods:
            require_listed(cluster.cluster, "Pod")
        if of_claims or not pods:
            require_listed(cluster.cluster, "PersistentVolumeClaim", namespace or "")
            every = list(cluster.cluster.list(PersistentVolumeClaim))
            close = [name] if any(c.name == name for c in every) else similar(name, (c.name for c in every))
            keys = [f"{claim.namespace}/{claim.name}" for claim in every if claim.name in close]
            where = f"{namespace}/{name}" if namespace else name
            hint = f"the snapshot has {', '.join(keys[:5])}" if keys else "kschedctl volumes -A lists all claims"
            raise InputError(f"the snapshot has no claim and no pod {where}", hint=hint)
    require_listed(cluster.cluster, "Pod")
    return named_pod(cluster.cluster, text, scope)


def device_subject(cluster: LoadedCluster, text: str, scope: NamespaceScope) -> ResourceClaim | DeviceClass:
    """Return the ResourceClaim or DeviceClass that an argument names; the claim if there are both.

    Raises InputError if there is no object of the name, or there are several claims of it.
    """
    loaded = cluster.cluster
    namespace: str | None = None
    word = text.partition("/")[0] if "/" in text else ""
    kind = {"claim": ResourceClaim, "class": DeviceClass}.get(word) or kind_by_name(word)
    if kind is not DeviceClass:
        name, namespace = scope.split(text, ResourceClaim, _DEVICE_FORMS, aliases=("claim",))
        claims = [c for c in loaded.list(ResourceClaim) if c.name == name and namespace in (None, c.namespace)]
        if len(claims) > 1:
            problem = f"the snapshot has {len(claims)} ResourceClaims with the name {name}"
            raise InputError(problem, hint=f"name one of them: {', '.join(claim.key for claim in claims)}")
        if claims:
            return claims[0]
    of_class = "" if kind is ResourceClaim else text.rpartition("/")[2]
    if kind is DeviceClass or "/" not in text:
        found = loaded.get(DeviceClass, of_class)
        if found is not None:
            return found
    # The object may be of a kind that could not be listed.
    if kind is not DeviceClass:
        require_listed(loaded, "ResourceClaim", namespace or "")
    if kind is not ResourceClaim:
        require_listed(loaded, "DeviceClass")
    raise _no_such_subject(cluster, text)


def _no_such_subject(cluster: LoadedCluster, text: str) -> InputError:
    claims = [claim.key for claim in cluster.cluster.list(ResourceClaim)]
    classes = [f"class/{one.name}" for one in cluster.cluster.list(DeviceClass)]
    name = text.rpartition("/")[2]
    by_name = {key.rpartition("/")[2]: key for key in [*classes, *claims]}
    close = [by_name[known] for known in ([name] if name in by_name else similar(name, by_name))]
    there = close or [*claims, *classes]
    hint = (
        f"the snapshot has {', '.join(there[:5])}"
        if there
        else "the snapshot has no ResourceClaims and no DeviceClasses"
    )
    return InputError(f"the snapshot has no ResourceClaim and no DeviceClass {text}", hint=hint)
