"""API versions that a release of Kubernetes no longer serves, does not serve yet, or never served."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import Final

from kschedctl.common.findings import Severity
from kschedctl.common.wording import counted, listed, mistakes, nearest
from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import Fix, setting
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem, Rule, RuleSubject, Stage
from kschedctl.linter.values import Steps, is_rendered
from kschedctl.objects.releases.release import Release
from kschedctl.objects.schema.schema import kinds_by_version

ALL: Final = ""
#: By API version and kind (empty: every other kind): the first minor release without it, and the replacement.
GONE: Final[dict[str, dict[str, tuple[int, str]]]] = {
    "extensions/v1beta1": {
        "Ingress": (22, "networking.k8s.io/v1"),
        "NetworkPolicy": (16, "networking.k8s.io/v1"),
        "PodSecurityPolicy": (16, "Pod Security Admission"),
        ALL: (16, "apps/v1"),
    },
    "apps/v1beta1": {ALL: (16, "apps/v1")},
    "apps/v1beta2": {ALL: (16, "apps/v1")},
    "networking.k8s.io/v1beta1": {
        "Ingress": (22, "networking.k8s.io/v1"),
        "IngressClass": (22, "networking.k8s.io/v1"),
        "IPAddress": (37, "networking.k8s.io/v1"),
        "ServiceCIDR": (37, "networking.k8s.io/v1"),
    },
    "rbac.authorization.k8s.io/v1alpha1": {ALL: (22, "rbac.authorization.k8s.io/v1")},
    "rbac.authorization.k8s.io/v1beta1": {ALL: (22, "rbac.authorization.k8s.io/v1")},
    "apiextensions.k8s.io/v1beta1": {ALL: (22, "apiextensions.k8s.io/v1")},
    "apiregistration.k8s.io/v1beta1": {ALL: (22, "apiregistration.k8s.io/v1")},
    "admissionregistration.k8s.io/v1beta1": {
        "MutatingWebhookConfiguration": (22, "admissionregistration.k8s.io/v1"),
        "ValidatingWebhookConfiguration": (22, "admissionregistration.k8s.io/v1"),
    },
    "authentication.k8s.io/v1beta1": {"TokenReview": (22, "authentication.k8s.io/v1")},
    "authorization.k8s.io/v1beta1": {ALL: (22, "authorization.k8s.io/v1")},
    "certificates.k8s.io/v1alpha1": {"ClusterTrustBundle": (37, "certificates.k8s.io/v1")},
    "certificates.k8s.io/v1beta1": {"CertificateSigningRequest": (22, "certificates.k8s.io/v1")},
    "coordination.k8s.io/v1beta1": {"Lease": (22, "coordination.k8s.io/v1")},
    "scheduling.k8s.io/v1alpha1": {"PriorityClass": (22, "scheduling.k8s.io/v1")},
    "scheduling.k8s.io/v1alpha2": {ALL: (37, "scheduling.k8s.io/v1beta1")},
    "scheduling.k8s.io/v1beta1": {"PriorityClass": (22, "scheduling.k8s.io/v1")},
    "storage.k8s.io/v1beta1": {
        "CSIDriver": (22, "storage.k8s.io/v1"),
        "CSINode": (22, "storage.k8s.io/v1"),
        "StorageClass": (22, "storage.k8s.io/v1"),
        "VolumeAttachment": (22, "storage.k8s.io/v1"),
        "VolumeAttributesClass": (37, "storage.k8s.io/v1"),
        "CSIStorageCapacity": (27, "storage.k8s.io/v1"),
    },
    "storage.k8s.io/v1alpha1": {"CSIStorageCapacity": (24, "storage.k8s.io/v1")},
    "batch/v1beta1": {"CronJob": (25, "batch/v1")},
    "batch/v2alpha1": {"CronJob": (21, "batch/v1")},
    "discovery.k8s.io/v1beta1": {"EndpointSlice": (25, "discovery.k8s.io/v1")},
    "events.k8s.io/v1beta1": {"Event": (25, "events.k8s.io/v1")},
    "autoscaling/v2beta1": {ALL: (25, "autoscaling/v2")},
    "autoscaling/v2beta2": {ALL: (26, "autoscaling/v2")},
    "policy/v1beta1": {"PodDisruptionBudget": (25, "policy/v1"), "PodSecurityPolicy": (25, "Pod Security Admission")},
    "node.k8s.io/v1alpha1": {"RuntimeClass": (22, "node.k8s.io/v1")},
    "node.k8s.io/v1beta1": {"RuntimeClass": (25, "node.k8s.io/v1")},
    "flowcontrol.apiserver.k8s.io/v1alpha1": {ALL: (21, "flowcontrol.apiserver.k8s.io/v1")},
    "flowcontrol.apiserver.k8s.io/v1beta1": {ALL: (26, "flowcontrol.apiserver.k8s.io/v1")},
    "flowcontrol.apiserver.k8s.io/v1beta2": {ALL: (29, "flowcontrol.apiserver.k8s.io/v1")},
    "flowcontrol.apiserver.k8s.io/v1beta3": {ALL: (32, "flowcontrol.apiserver.k8s.io/v1")},
    "resource.k8s.io/v1alpha1": {ALL: (27, "resource.k8s.io/v1")},
    "resource.k8s.io/v1alpha2": {ALL: (31, "resource.k8s.io/v1")},
    "resource.k8s.io/v1beta1": {ALL: (38, "resource.k8s.io/v1")},
    "settings.k8s.io/v1alpha1": {"PodPreset": (20, "")},
}
#: The kinds that have the same fields, with the same meaning, in the version that replaces the former one.
_UNCHANGED: Final = frozenset(
    (
        *(
            ("batch/v1beta1", "CronJob"),
            ("batch/v2alpha1", "CronJob"),
            ("autoscaling/v2beta2", "HorizontalPodAutoscaler"),
        ),
        *(("scheduling.k8s.io/v1beta1", "PriorityClass"), ("storage.k8s.io/v1beta1", "StorageClass")),
        *(("node.k8s.io/v1beta1", "RuntimeClass"), ("apps/v1beta2", "ControllerRevision")),
        *(("networking.k8s.io/v1beta1", "IngressClass"), ("coordination.k8s.io/v1beta1", "Lease")),
        *(("rbac.authorization.k8s.io/v1beta1", kind) for kind in ("Role", "ClusterRole", "RoleBinding")),
        ("rbac.authorization.k8s.io/v1beta1", "ClusterRoleBinding"),
    )
)
#: By API version and kind: the first minor release with it, and the version in the release before.
NEW: Final[dict[str, dict[str, tuple[int, str]]]] = {
    "scheduling.k8s.io/v1alpha2": {"PodGroup": (36, ""), "Workload": (36, "")},
    "scheduling.k8s.io/v1alpha3": {
        "PodGroup": (37, "scheduling.k8s.io/v1alpha2"),
        "Workload": (37, "scheduling.k8s.io/v1alpha2"),
        "CompositePodGroup": (37, ""),
    },
    "scheduling.k8s.io/v1beta1": {
        "PodGroup": (37, "scheduling.k8s.io/v1alpha2"),
        "Workload": (37, "scheduling.k8s.io/v1alpha2"),
        "CompositePodGroup": (38, "scheduling.k8s.io/v1alpha3"),
    },
    "certificates.k8s.io/v1": {
        "ClusterTrustBundle": (37, "certificates.k8s.io/v1beta1"),
        "PodCertificateRequest": (37, "certificates.k8s.io/v1beta1"),
    },
    "lifecycle.k8s.io/v1alpha1": {"Eviction": (37, ""), "EvictionRequest": (37, "")},
    "resource.k8s.io/v1": {"DeviceTaintRule": (37, "resource.k8s.io/v1beta2")},
    "storagemigration.k8s.io/v1": {"StorageVersionMigration": (37, "storagemigration.k8s.io/v1beta1")},
}

_STABLE: Final = re.compile(r"(?:.*/)?v\d+")
#: The suffixes of the groups of Kubernetes itself, and of custom resources of its projects.
_SUFFIX: Final = ".k8s.io"
_CUSTOM_SUFFIX: Final = ".x-k8s.io"


@Rule(
    "KS905",
    "api-gone",
    Severity.ERROR,
    Stage.REFUSED,
    RuleSubject.OBJECT,
    fails="""policy/v1beta1 PodDisruptionBudget web  # <-
maxUnavailable: 1
""",
    repair={"v1beta1": "v1"},
)
def api_gone(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    """The API server does not serve the API version of the object, or not this kind in that version.

    The release is that of --kubernetes-version, else that of the snapshot, else the newest known release. A kind counts as
    misspelt, or as one of another group, only if the version is one of Kubernetes itself and a similar kind, or the same
    kind in another version, exists. An API group counts as misspelt if Kubernetes itself has the kind, and the group has no
    dot or is similar to that of the kind, as ``apps.k8s.io`` is.

    In a folder whose name says that its manifests are for tests, of a published release, or of the past, such as ``e2e``,
    ``v0.3.0`` or ``legacy``, the version is the author's choice: the finding is info, once per version and kind, and the
    help has the setting that leaves the folder out. It is info, too, if the name of the file or folder has the version
    (``crd-v1beta1.yaml``), and a file beside it has the kind in a version that is served.

    The API server refuses the object ("no matches for kind").

    Repair: the kind or version that the message names; ``kubectl convert`` and the deprecation guide of Kubernetes describe
    the changes. ``--fix`` writes the new version of a kind whose fields stayed the same, such as CronJob.
    """
    kinds = GONE.get(obj.api_version, {})
    gone = kinds.get(obj.kind, kinds.get(ALL))
    new = NEW.get(obj.api_version, {}).get(obj.kind)
    minor = int(context.release.version.partition(".")[2])
    if new is not None and minor < new[0]:
        since, before = new
        instead = before if before and minor == since - 1 else f"Kubernetes 1.{since} or newer"
        message = f"{obj.kind} of {obj.api_version} is not served before Kubernetes 1.{since}"
        yield Problem(message=message, steps=("apiVersion",), help=f"use {instead}")
    elif gone is None:
        versions = kinds_by_version()
        served = versions.get(obj.api_version, frozenset())
        if obj.kind in served or not is_rendered([obj.kind, obj.api_version]):
            return
        message = f'no matches for kind "{obj.kind}" in version "{obj.api_version}"'
        elsewhere = [version for version, kinds in versions.items() if obj.kind in kinds]
        if not served:
            if elsewhere and (similar := _similar_versions(obj.api_version, elsewhere)):
                yield Problem(message=message, steps=("apiVersion",), help=f"did you mean {listed(similar, 'or')}?")
        elif elsewhere:
            yield Problem(message=message, steps=("apiVersion",), help=f"{obj.kind} is in {listed(elsewhere, 'or')}")
        elif meant := nearest(obj.kind, served):
            yield Problem(message=message, steps=("kind",), help=f"did you mean {meant}?")
    elif minor >= gone[0]:
        yield from _gone(obj, context, *gone)


_VERSION: Final[Steps] = ("apiVersion",)


def stable_versions(release: Release) -> list[str]:
    """Return the stable API versions that a release serves, alone and with each kind, such as ``apps/v1/Deployment``."""
    minor = int(release.version.partition(".")[2])
    found: list[str] = []
    for version, kinds in kinds_by_version().items():
        new = NEW.get(version, {})
        served = [kind for kind in kinds if kind not in new or new[kind][0] <= minor]
        if _STABLE.fullmatch(version) and served:
            found += (version, *(f"{version}/{kind}" for kind in sorted(served)))
    return found


def _gone(obj: LintObject, context: LintContext, since: int, instead: str) -> Iterator[Problem]:
    """Yield the problem of a version that is no longer served; in a folder of old manifests once per kind."""
    message = f"{obj.kind} of {obj.api_version} is no longer served as of Kubernetes 1.{since}"
    if (purpose := context.purpose_of(obj.file)) is not None:
        same = context.manifests.by_version[obj.api_version, obj.kind]
        in_folder = [other for other in same if context.purpose_of(other.file) == purpose]
        if in_folder[0] is obj:
            # The settings know no absolute paths.
            path = PurePath(purpose.glob)
            glob = path.name if path.is_absolute() else path.as_posix()
            quoted = f'"{glob}"' if "*" in glob else glob
            yield Problem(
                message=f"{message} ({counted(len(in_folder), 'object')} in {purpose.glob})",
                steps=("apiVersion",),
                help=f"to leave the folder out, write exclude: [{quoted}] in the settings",
                severity=Severity.INFO,
            )
        return
    served = (each for each, kinds in kinds_by_version().items() if obj.kind in kinds)
    if (newer := served_beside(obj, served, context)) is not None:
        yield Problem(
            message=f"{message}; {newer.file.name} has {newer.kind} of {newer.api_version}",
            steps=_VERSION,
            help=leaving_out(obj),
            severity=Severity.INFO,
        )
        return
    title = f"use {instead}" if instead else "it was removed"
    yield Problem(message=message, steps=_VERSION, help=title, fix=_new_version(obj, title, instead))


def _new_version(obj: LintObject, title: str, instead: str) -> Fix | None:
    """Return the fix that writes the new version of a kind; ``None`` if its fields changed, or it is not served yet."""
    unchanged = (obj.api_version, obj.kind) in _UNCHANGED and obj.kind in kinds_by_version().get(instead, ())
    return setting(obj, title, (_VERSION, instead)) if unchanged and not obj.partial else None


def _similar_versions(api_version: str, served: Sequence[str]) -> Sequence[str]:
    """Return the versions of a kind that an unknown version is meant for; none if it is of a group of its own.

    The group of a custom resource has a dot, and may have kinds with the names of those of Kubernetes.

    >>> _similar_versions("apps.k8s.io/v1", ["apps/v1"]), _similar_versions("serving.knative.dev/v1", ["v1"])
    (['apps/v1'], [])
    """
    # Without a slash, the text is a version of the core group, or a group without its version.
    group = api_version.partition("/")[0].removesuffix(_SUFFIX)
    groups = [(each, each.rpartition("/")[0].removesuffix(_SUFFIX)) for each in served]
    is_custom = group.endswith(_CUSTOM_SUFFIX)
    similar = [each for each, other in groups if not is_custom and (group == other or mistakes(group, other) > 0)]
    return similar or ([] if "." in group else served)


def leaving_out(obj: LintObject) -> str:
    """Return the help of a finding in a file that can be left out."""
    return f"to leave the file out, write exclude: [{PurePath(obj.file.name).name}] in the settings"


def served_beside(obj: LintObject, served: Iterable[str], context: LintContext) -> LintObject | None:
    """Return an object of the same kind in a served version, if the object's file or folder is named after its version.

    It is in the same folder, or in a folder beside it.

    Args:
        served: The versions that are served.
    """
    path, version = PurePath(obj.file.name), obj.api_version.rpartition("/")[2]
    named = re.compile(rf"(?:.*[-_.])?{re.escape(version)}(?:[-_.].*)?")
    if not any(named.fullmatch(part) for part in (path.name, path.parent.name)):
        return None
    folders = {path.parent} if named.fullmatch(path.name) else {path.parent, path.parent.parent}
    others = (other for each in served for other in context.manifests.by_version.get((each, obj.kind), ()))
    around = ((other, PurePath(other.file.folder)) for other in others)
    return next((other for other, folder in around if not folders.isdisjoint((folder, folder.parent))), None)
