"""Volumes, claims and storage classes."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Final

from kschedctl.common.findings import Severity
from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import setting
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.node_terms import pinned
from kschedctl.linter.pods import WorkloadPods, holds_for
from kschedctl.linter.related_objects import JOBS
from kschedctl.linter.relations import PV, PVC, RWO, RWOP, attaches_to_one_node, mounted_claims
from kschedctl.linter.rule import Problem, Related, Rule, RuleSubject, Stage
from kschedctl.linter.values import Steps, at, is_rendered, items, mapping, nano_units, numbered, text
from kschedctl.objects.well_known import HOSTNAME

_LOCAL: Final = frozenset(
    (
        *("kubernetes.io/no-provisioner", "rancher.io/local-path", "topolvm.io", "topolvm.cybozu.com"),
        *("openebs.io/local", "local.csi.openebs.io", "zfs.csi.openebs.io"),
    )
)


@Rule(
    "KS402",
    "immediate-local",
    Severity.WARNING,
    Stage.WAITS,
    "storage.k8s.io/StorageClass",
    fails="""storage.k8s.io/v1 StorageClass local
provisioner: kubernetes.io/no-provisioner  # <-
""",
    repair={"no-provisioner": "no-provisioner\nvolumeBindingMode: WaitForFirstConsumer"},
)
def immediate_local(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    """A storage class for volumes on one node binds claims before the pod's node is known.

    With volumeBindingMode Immediate, which is the default, a claim gets a volume on any node, and the pod must be scheduled
    to that node, whether it has free capacity or not.

    The API server accepts the object, and pods stay pending ("had volume node affinity conflict").

    Repair: volumeBindingMode: WaitForFirstConsumer. A class cannot be changed: it must be recreated.
    """
    yield from binding_at_once(obj, _LOCAL, "a claim is bound to a volume of some node before the pod's node is known")


def binding_at_once(obj: LintObject, provisioners: frozenset[str], consequence: str) -> Iterator[Problem]:
    """Yield the problem of a storage class of some provisioners that does not wait for the first consumer."""
    mode = obj.raw.get("volumeBindingMode")
    if text(obj.raw.get("provisioner")) not in provisioners or mode not in (None, "", "Immediate"):
        return
    title, field = "set volumeBindingMode: WaitForFirstConsumer", ("volumeBindingMode",)
    yield Problem(
        message=f"volumeBindingMode is {'Immediate' if mode else 'not set, which means Immediate'}: {consequence}",
        steps=field if mode else ("provisioner",),
        help=title,
        fix=setting(obj, title, (field, "WaitForFirstConsumer"), safe=False),
    )


_ZONAL: Final = frozenset(
    (
        *("ebs.csi.aws.com", "kubernetes.io/aws-ebs", "ebs.csi.eks.amazonaws.com"),
        *("pd.csi.storage.gke.io", "kubernetes.io/gce-pd"),
        *("disk.csi.azure.com", "kubernetes.io/azure-disk"),
        *("cinder.csi.openstack.org", "kubernetes.io/cinder"),
        *("diskplugin.csi.alibabacloud.com", "alicloud/disk"),
        *("blockvolume.csi.oraclecloud.com", "oracle.com/oci"),
        "vpc.block.csi.ibm.io",
    )
)
_ONE_PLACE: Final = frozenset(("dobs.csi.digitalocean.com", "csi.hetzner.cloud"))
#: Parameters that name the zone; for Cinder it is ``availability``, the availability zone.
_ZONE_PARAMETERS: Final = frozenset(("zone", "zones", "availability", "availabilityzone", "zoneid"))


@Rule(
    "KS401",
    "immediate-zonal",
    Severity.WARNING,
    Stage.WAITS,
    "storage.k8s.io/StorageClass",
    fails="""storage.k8s.io/v1 StorageClass gp3
provisioner: ebs.csi.aws.com  # <-
""",
    repair={"ebs.csi.aws.com": "ebs.csi.aws.com\nvolumeBindingMode: WaitForFirstConsumer"},
)
def immediate_zonal(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    """A storage class creates volumes in one zone immediately, before the pod's zone is known.

    With volumeBindingMode Immediate, which is the default, a claim gets its volume as soon as it is created, in any zone.
    The pod that uses the volume must be scheduled to that zone, whatever its affinity, its spread constraints or its other
    volumes require. The rule ignores classes that restrict topologies, name their zone, or create regional volumes.
    Providers whose volumes are all in the one location of a cluster are reported as info.

    The API server accepts the object, and pods stay pending ("had volume node affinity conflict").

    Repair: volumeBindingMode: WaitForFirstConsumer. A class cannot be changed: it must be recreated.
    """
    provisioner, parameters = text(obj.raw.get("provisioner")), mapping(obj.raw.get("parameters"))
    if obj.raw.get("allowedTopologies"):
        return
    for name, value in parameters.items():
        key, lower = name.lower(), str(value).lower()
        is_regional = key == "replication-type" and lower == "regional-pd"
        is_of_zones = key in ("skuname", "storageaccounttype") and lower.endswith("_zrs")
        if is_regional or is_of_zones or (key in _ZONE_PARAMETERS and value):
            return
    consequence = f"{provisioner} creates a volume in one zone before the pod's zone is known"
    severity = Severity.INFO if provisioner in _ONE_PLACE else None
    for found in binding_at_once(obj, _ZONAL | _ONE_PLACE, consequence):
        yield replace(found, severity=severity)


_HOST_PATH_VOLUME_UNPINNED = """v1 PersistentVolume data
hostPath:  # <-
  path: /data
"""


@Rule(
    "KS403",
    "host-path-volume-unpinned",
    Severity.INFO,
    None,
    "PersistentVolume",
    fails=_HOST_PATH_VOLUME_UNPINNED,
    passes=f"""{_HOST_PATH_VOLUME_UNPINNED}nodeAffinity:
  required:
    nodeSelectorTerms:
    - matchExpressions:
      - key: kubernetes.io/hostname
        operator: In
        values: [node-1]
""",
)
def host_path_volume_unpinned(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    """A persistent volume is a directory on a node (hostPath), and has no node affinity for that node.

    A pod that uses the volume can be scheduled to any node and gets the directory of that node: usually an empty one, after
    the pod moved. In clusters with one node that is intended.

    The API server accepts the object; pods run, on the wrong node.

    Repair: nodeAffinity with the node's name, or a local volume, which must have it.
    """
    spec = mapping(obj.raw.get("spec"))
    if isinstance(spec.get("hostPath"), dict) and not spec.get("nodeAffinity"):
        yield Problem(
            message="the directory is on one node, and pods that use it can be scheduled to any node",
            steps=("spec", "hostPath"),
            help="add nodeAffinity with the node's name, or use a local volume",
        )


@Rule(
    "KS404",
    "claim-and-volume-disagree",
    Severity.ERROR,
    Stage.WAITS,
    "PersistentVolumeClaim",
    fails="""v1 PersistentVolumeClaim data
storageClassName: ""
accessModes: [ReadWriteMany]  # <-
volumeName: data
---
v1 PersistentVolume data
nfs: {server: nfs.example.com, path: /data}
""",
    repair={"accessModes: [ReadWriteMany]": "accessModes: [ReadWriteOnce]"},
)
def claim_and_volume_disagree(claim: LintObject, context: LintContext) -> Iterator[Problem]:
    """A claim names a volume that does not match it in class, access modes, size, volume mode or claim reference.

    The PersistentVolume controller binds a claim to the volume that the claim names only if the volume has the same class,
    all access modes of the claim, the same volume mode and at least the requested size, and is not reserved for another
    claim.

    The API server accepts both, and the pods stay pending, as the claim is not bound.

    Repair: make claim and volume match.
    """
    spec = mapping(claim.raw.get("spec"))
    name = text(spec.get("volumeName"))
    volume = context.manifests.named(claim, PV, name) if name and is_rendered(name) else None
    if volume is None:
        return
    of_volume = mapping(volume.raw.get("spec"))
    for own, other, why in _claim_differences(claim, spec, of_volume):
        if is_rendered(at(claim.raw, *own)) and is_rendered(at(volume.raw, *other)):
            yield Problem(
                message=f"the claim cannot be bound to volume {name}, which it names: {why}",
                steps=own,
                help="make claim and volume match",
                related=(Related(volume, other, "the volume"),),
            )


def _claim_differences(claim: LintObject, spec: object, volume: object) -> Iterator[tuple[Steps, Steps, str]]:
    wanted, has = at(spec, "storageClassName"), text(at(volume, "storageClassName"))
    if isinstance(wanted, str) and wanted != has:
        of = ("spec", "storageClassName")
        yield of, of, f'its class is "{has}", the claim\'s "{wanted}"'
    modes = [mode for mode in items(at(volume, "accessModes")) if isinstance(mode, str)]
    lacking = [mode for mode in items(at(spec, "accessModes")) if isinstance(mode, str) and mode not in modes]
    if lacking:
        of = ("spec", "accessModes")
        yield of, of, f"it has {', '.join(modes) or 'no access mode'}, not {', '.join(lacking)}"
    asked, capacity = at(spec, "resources", "requests", "storage"), at(volume, "capacity", "storage")
    size, room = nano_units(asked), nano_units(capacity)
    if size is not None and room is not None and room < size:
        yield ("spec", "resources", "requests", "storage"), ("spec", "capacity", "storage"), f"it has {capacity}"
    mode, of_volume = text(at(spec, "volumeMode")) or "Filesystem", text(at(volume, "volumeMode")) or "Filesystem"
    if mode != of_volume:
        yield ("spec", "volumeMode"), ("spec", "volumeMode"), f"its volumeMode is {of_volume}, the claim's {mode}"
    ref = mapping(at(volume, "claimRef"))
    namespace = text(ref.get("namespace"))
    elsewhere = bool(claim.namespace) and bool(namespace) and namespace != claim.namespace
    if ref and (ref.get("name") != claim.name or elsewhere):
        named = "/".join(part for part in (namespace, text(ref.get("name"))) if part)
        yield ("spec", "volumeName"), ("spec", "claimRef"), f"it is reserved for claim {named}"


_CLAIM_NOT_GIVEN = """v1 Pod db
volumes:
- name: data
  persistentVolumeClaim:
    claimName: data  # <-
"""


@Rule(
    "KS405",
    "claim-not-given",
    Severity.WARNING,
    Stage.WAITS,
    RuleSubject.PODS,
    on=False,
    fails=_CLAIM_NOT_GIVEN,
    passes=f"""{_CLAIM_NOT_GIVEN}---
v1 PersistentVolumeClaim data
accessModes: [ReadWriteOnce]
""",
)
def claim_not_given(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The pods mount a claim that is not in the manifest set.

    Claims are often applied separately, so the rule runs only if it is selected. With a snapshot, KS507 checks the claims
    of the cluster.

    The API server accepts the object, and the pods stay pending if the claim does not exist.

    Repair: add the claim, or name an existing one.
    """
    for steps, name in pods.claims():
        if not context.manifests.has(PVC, name) and not context.may_be_elsewhere("KS405", pods.obj):
            yield Problem(
                message=f"claim {name} is not in the manifest set",
                steps=steps,
                help="add the claim, or name an existing one",
            )


#: The first release without the plugin, by field.
_GONE: Final = {
    "glusterfs": "1.26",
    "cephfs": "1.31",
    "rbd": "1.31",
    "quobyte": "1.25",
    "storageos": "1.25",
    "flocker": "1.25",
    "scaleIO": "1.22",
    "photonPersistentDisk": "1.22",
    "gitRepo": "1.33",
}


@Rule(
    "KS406",
    "removed-volume-plugin",
    Severity.ERROR,
    Stage.WAITS,
    RuleSubject.PODS,
    of_fields=True,
    fails="""v1 Pod web
volumes:
- name: code
  gitRepo:  # <-
    repository: https://example.com/code.git
""",
    repair={"gitRepo:": "emptyDir: {}", "    repository: https://example.com/code.git\n": ""},
)
def removed_volume_plugin(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """A volume uses a volume plugin that Kubernetes has removed or disabled.

    The code of glusterfs, cephfs, rbd, quobyte, storageos, flocker, scaleIO and photonPersistentDisk is removed, and
    gitRepo is disabled; their fields still exist and do nothing.

    The API server accepts the object, with a warning that is easily missed, and the pods never start: no kubelet mounts the
    volume.

    Repair: the CSI driver that replaces it; for gitRepo an init container that clones into an emptyDir.
    """
    for steps, volume in numbered(pods.spec.get("volumes"), pods.of_spec("volumes")):
        for name, release in _GONE.items():
            if isinstance(volume, dict) and isinstance(volume.get(name), dict):
                yield Problem(
                    message=f"volumes of {name} have not worked since Kubernetes {release}",
                    steps=(*steps, name),
                    help="use a CSI driver" if name != "gitRepo" else "clone into an emptyDir in an init container",
                    key=True,
                )


_MODES: Steps = ("spec", "accessModes")


@Rule(
    "KS407",
    "claim-of-several-workloads",
    Severity.WARNING,
    Stage.WAITS,
    "PersistentVolumeClaim",
    fails="""v1 PersistentVolumeClaim data
accessModes: [ReadWriteOnce]  # <-
---
apps/v1 Deployment api
volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
---
apps/v1 Deployment worker
volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
""",
    repair={"ReadWriteOnce": "ReadWriteMany"},
)
def claim_of_several_workloads(claim: LintObject, context: LintContext) -> Iterator[Problem]:
    """Several workloads mount one claim that can be used by one node, or by one pod, at a time.

    With ReadWriteOnce, pods of another workload on another node wait for the volume: "Multi-Attach error for volume ...
    Volume is already used by pod(s) ..." (kubegems/kubegems#483 and admirito/gvm-containers#39 are charts with this
    problem). With ReadWriteOncePod, every pod but one stays pending (error): the plugin VolumeRestrictions rejects all
    nodes. The rule ignores workloads that are kept on one node, by a node selector with one host name or a required pod
    affinity to the other one on kubernetes.io/hostname, and the volumes that KS204 ignores. It compares workloads in the
    folder of the claim. If the pods of all these workloads end, as those of Jobs do, each gets the volume in its turn: the
    finding is info.

    The API server accepts the objects, and pods wait for the volume or stay pending.

    Repair: one claim per workload, a volume that is ReadWriteMany, or a pod affinity that keeps the workloads together.
    """
    modes = at(claim.raw, *_MODES)
    if modes not in ([RWO], [RWOP]) or (modes == [RWO] and not attaches_to_one_node(claim, context.manifests)):
        return
    mounting = {
        pods: mounted.steps
        for pods in context.pods_seen_from(claim)
        for mounted in mounted_claims(pods, context.manifests)
        if mounted.claim is claim and pods.obj.file.folder == claim.file.folder
    }
    users = {
        pods: mounting[pods]
        for pods in context.without_owned(mounting)
        if (count := context.replicas(pods)) is None or count.high
    }
    apart = {
        pods: None for pair in combinations(users, 2) if modes == [RWOP] or not _are_together(*pair) for pods in pair
    }
    if apart:
        names = " and ".join(f"{pods.obj.kind} {pods.obj.name}" for pods in apart)
        what = "one pod" if modes == [RWOP] else "the pods of one node"
        in_turn = all(map(_ends, apart))
        yield Problem(
            message=f"{names} mount the claim, which {what} at a time can use ({modes[0]})"
            + (": they run in turn" if in_turn else ""),
            steps=_MODES,
            help="start each of them once the one before has ended, or use a volume that is ReadWriteMany"
            if in_turn
            else "use one claim per workload, or a volume that is ReadWriteMany",
            severity=Severity.INFO if in_turn else Severity.ERROR if modes == [RWOP] else None,
            related=tuple(Related(pods.obj, users[pods], "mounts the claim") for pods in apart),
        )


def _ends(pods: WorkloadPods) -> bool:
    """Report whether the pods of a workload end by themselves."""
    return pods.type in JOBS or (pods.type == "Pod" and pods.spec.get("restartPolicy") in ("Never", "OnFailure"))


def _are_together(one: WorkloadPods, other: WorkloadPods) -> bool:
    """Report whether the pods of two workloads are on one node if they run."""
    hosts = [_host(pods) for pods in (one, other)]
    if hosts[0] and hosts[0] == hosts[1]:
        return True
    return any(
        part.raw.get("topologyKey") == HOSTNAME and holds_for(part, owner, others)
        for owner, others in ((one, other), (other, one))
        for part in owner.terms("podAffinity", required=True)
    )


def _host(pods: WorkloadPods) -> str:
    """Return the only node that pods can be on; empty if there may be several."""
    names = pinned(pods, HOSTNAME) or ()
    return text(pods.spec.get("nodeName")) or (next(iter(names)) if len(names) == 1 else "")
