"""Relations of a pod template to pods and volumes: anti-affinity to its own pods, host ports, mounted claims."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from kschedctl.linter.fix import Fix, setting
from kschedctl.linter.labels import REVISION_LABELS, PodLabels, holds, selects_everything
from kschedctl.linter.manifest_set import LintManifests, LintObject
from kschedctl.linter.node_terms import pinned
from kschedctl.linter.pods import Replicas, TemplatePart, WorkloadPods, holds_for
from kschedctl.linter.rule import Related
from kschedctl.linter.values import Steps, at, items, mapping, numbered, text, whole
from kschedctl.objects.pod import TopologySpreadConstraint
from kschedctl.objects.releases.release import Release
from kschedctl.objects.volume import is_shared_or_local
from kschedctl.objects.well_known import HOSTNAME

PVC: Final = "PersistentVolumeClaim"
PV: Final = "PersistentVolume"
STORAGE_CLASS: Final = "storage.k8s.io/StorageClass"
RWO: Final = "ReadWriteOnce"
RWOP: Final = "ReadWriteOncePod"


def self_terms(pods: WorkloadPods) -> Iterator[tuple[Steps, str]]:
    """Yield the required anti-affinity terms that match the pods of all their revisions, each with its topology key."""
    revision = REVISION_LABELS.get(pods.type)
    for part in pods.terms("podAntiAffinity", required=True):
        if part.value is None or revision in part.value.match_label_keys:
            continue
        if part.value.topology_key and holds_for(part, pods, pods):
            yield part.steps, part.value.topology_key


def has_empty_selector(part: TemplatePart[TopologySpreadConstraint], pods: WorkloadPods) -> bool:
    """Report whether a spread constraint has a selector without requirements, with those of ``matchLabelKeys``."""
    keys = [key for _, key in numbered(part.raw.get("matchLabelKeys"), ())]
    return selects_everything(part.raw.get("labelSelector")) and not any(
        isinstance(key, str) and pods.labels.may_have(key) for key in keys
    )


def is_idle(part: TemplatePart[TopologySpreadConstraint], pods: WorkloadPods, release: Release) -> bool:
    """Report whether a spread constraint counts no pods in a release, because its selector is empty."""
    return not release.empty_spread_selector_counts and has_empty_selector(part, pods)


def is_kept_apart(pods: WorkloadPods, release: Release) -> bool:
    """Report whether an anti-affinity term or a spread constraint may match the pods themselves."""
    terms = [part for required in (True, False) for part in pods.terms("podAntiAffinity", required=required)]
    if any(holds_for(part, pods, pods) is not False for part in terms):
        return True
    counting = (part for part in pods.spread if not is_idle(part, pods, release))
    return any(holds(part.raw.get("labelSelector"), pods.labels) is not False for part in counting)


def is_on_one_node(pods: WorkloadPods) -> bool:
    """Report whether all pods of a workload, also those of its next revision, are on one node if they run."""
    if text(pods.spec.get("nodeName")):
        return True
    names = pinned(pods, HOSTNAME)
    if names is not None and len(names) < 2:
        return True
    # The first pod may go to any node; every other pod then follows it.
    terms = (part for part in pods.terms("podAffinity", required=True) if part.value is not None)
    return any(part.raw.get("topologyKey") == HOSTNAME and holds_for(part, pods, pods) for part in terms)


def own_selector(pods: WorkloadPods) -> dict[str, Any] | None:
    """Return the workload's own selector, else one of all the pods' labels; ``None`` if empty or not matching."""
    own = at(pods.obj.raw, "spec", "selector", "matchLabels")
    chosen = mapping(own) or mapping(pods.metadata.get("labels"))
    if not chosen or not holds({"matchLabels": dict(chosen)}, PodLabels.of(mapping(pods.metadata.get("labels")))):
        return None
    return {"matchLabels": dict(chosen)}


class TemplateHostPort(NamedTuple):
    """A port of the node that the pods use."""

    ip: str
    protocol: str
    port: int
    steps: Steps

    def __str__(self) -> str:
        ip = "" if self.ip == "0.0.0.0" else f"{self.ip}:"
        return f"{ip}{self.port}/{self.protocol}"


def host_ports(pods: WorkloadPods) -> list[TemplateHostPort]:
    """Return the ports of the node that the pods use; with hostNetwork every port of a container is one."""
    on_host = pods.spec.get("hostNetwork") is True
    found: dict[tuple[str, str, int], TemplateHostPort] = {}
    for container in pods.containers:
        if container.init:
            continue
        for steps, raw in numbered(container.raw.get("ports"), (*container.steps, "ports")):
            field = "hostPort" if whole(at(raw, "hostPort")) else "containerPort"
            port = whole(at(raw, "hostPort")) or (whole(at(raw, "containerPort")) if on_host else None)
            if port:
                ip, protocol = text(at(raw, "hostIP")) or "0.0.0.0", text(at(raw, "protocol")) or "TCP"
                found.setdefault((ip, protocol, port), TemplateHostPort(ip, protocol, port, (*steps, field)))
    return list(found.values())


class Mounted(NamedTuple):
    """A claim of the manifest set that the pods mount, with the path of its name and its access modes."""

    steps: Steps
    claim: LintObject
    modes: tuple[str, ...]


def mounted_claims(pods: WorkloadPods, given: LintManifests) -> Iterator[Mounted]:
    """Yield the claims of the manifest set that the pods mount."""
    for steps, name in pods.claims():
        claim = given.named(pods.obj, PVC, name)
        if claim is not None:
            modes = items(at(claim.raw, "spec", "accessModes"))
            yield Mounted(steps, claim, tuple(mode for mode in modes if isinstance(mode, str)))


def attaches_to_one_node(claim: LintObject, given: LintManifests) -> bool:
    """Report whether a claim's volume is attached to one node at a time.

    A volume of a shared file system is not. A volume on a node's own disk does not count either: pods that use it are
    scheduled to that node anyway. Both are recognised by the names of storage class, provisioner and driver.
    """
    spec = mapping(claim.raw.get("spec"))
    class_name = text(spec.get("storageClassName"))
    names = [class_name]
    storage_class = given.named(claim, STORAGE_CLASS, class_name) if class_name else None
    if storage_class is not None:
        names.append(text(storage_class.raw.get("provisioner")))
    volume, wanted = text(spec.get("volumeName")), mapping(at(spec, "selector", "matchLabels"))
    for pv in given.seen_from(claim, PV):
        of_pv = mapping(pv.raw.get("spec"))
        bound = pv.name == volume if volume else bool(class_name) and of_pv.get("storageClassName") == class_name
        ref = mapping(of_pv.get("claimRef"))
        claimed = ref.get("name") == claim.name and ref.get("namespace", claim.namespace) == claim.namespace
        labels = mapping(at(pv.raw, "metadata", "labels"))
        selected = bool(wanted) and all(labels.get(key) == value for key, value in wanted.items())
        if bound or claimed or selected:
            names += [text(at(of_pv, "csi", "driver")), *(name for name in of_pv if isinstance(of_pv[name], dict))]
    return not any(map(is_shared_or_local, names))


# Fixes of rollouts, and the autoscaler of a workload as a related object.


def one_down_first(pods: WorkloadPods) -> Fix | None:
    """Return a fix that removes an old pod before a new one starts; ``None`` if the workload is not a Deployment."""
    if pods.type != "apps/Deployment":
        return None
    at = ("spec", "strategy")
    return setting(
        pods.obj,
        "set maxSurge 0 and maxUnavailable 1",
        ((*at, "type"), "RollingUpdate"),
        ((*at, "rollingUpdate", "maxSurge"), 0),
        ((*at, "rollingUpdate", "maxUnavailable"), 1),
        safe=False,
    )


def recreate(pods: WorkloadPods) -> Fix | None:
    """Return a fix that removes all old pods before new ones start; ``None`` if the workload is not a Deployment."""
    if pods.type != "apps/Deployment":
        return None
    strategy = ("spec", "strategy")
    return setting(pods.obj, "set strategy Recreate", (strategy, {"type": "Recreate"}), safe=False)


def scaler_of(count: Replicas) -> tuple[Related, ...]:
    """Return the autoscaler that determines the replicas, if any, as a related object."""
    if count.scaler is None:
        return ()
    return (Related(count.scaler, ("spec",), f"{count.scaler.kind} scales the pods from {count.low} to {count.high}"),)
