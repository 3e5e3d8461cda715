"""Volumes of pods, PersistentVolumes and claims (core/v1), storage classes and reports of CSI drivers."""

from typing import Final

from msgspec import field

from kschedctl.common.text.patterns import pattern
from kschedctl.objects.core import QuantityText, ResourceList
from kschedctl.objects.meta import ApiObject, ApiStruct, Int32, LabelSelector, ObjectMeta
from kschedctl.objects.selectors import NodeSelector


class GCEPersistentDisk(ApiStruct, frozen=True):
    pd_name: str = ""
    read_only: bool = False
    partition: Int32 = 0


class AWSElasticBlockStore(ApiStruct, frozen=True):
    volume_id: str = field(default="", name="volumeID")
    read_only: bool = False


class AzureDisk(ApiStruct, frozen=True):
    disk_name: str = ""
    disk_uri: str = field(default="", name="diskURI")
    #: The API server's default is Shared.
    kind: str = "Shared"


class AzureFile(ApiStruct, frozen=True):
    share_name: str = ""
    secret_name: str = ""
    secret_namespace: str = ""


class Cinder(ApiStruct, frozen=True):
    volume_id: str = field(default="", name="volumeID")


class VsphereVolume(ApiStruct, frozen=True):
    volume_path: str = ""


class PortworxVolume(ApiStruct, frozen=True):
    volume_id: str = field(default="", name="volumeID")


class ISCSI(ApiStruct, frozen=True):
    iqn: str = ""
    target_portal: str = ""
    lun: Int32 = 0
    read_only: bool = False


class RBD(ApiStruct, frozen=True):
    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = ""
    read_only: bool = False


class InTreeVolumes(ApiStruct, frozen=True):
    """The in-tree sources that pod volumes and PersistentVolumes have in common."""

    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    azure_disk: AzureDisk | None = None
    azure_file: AzureFile | None = None
    cinder: Cinder | None = None
    vsphere_volume: VsphereVolume | None = None
    portworx_volume: PortworxVolume | None = None
    iscsi: ISCSI | None = None
    rbd: RBD | None = None


class VolumeResourceRequirements(ApiStruct, frozen=True):
    requests: ResourceList = {}
    limits: ResourceList = {}


class TypedObjectReference(ApiStruct, frozen=True):
    """A reference to another object: the data source of a claim, or the claim of a PersistentVolume."""

    api_group: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""
    uid: str = ""


class PersistentVolumeClaimSpec(ApiStruct, frozen=True):
    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: VolumeResourceRequirements = VolumeResourceRequirements()
    volume_name: str = ""
    #: ``None`` requests the default class; the empty string requests no class.
    storage_class_name: str | None = None
    volume_mode: str = ""
    volume_attributes_class_name: str | None = None
    data_source: TypedObjectReference | None = None
    data_source_ref: TypedObjectReference | None = None


class PersistentVolumeClaimStatus(ApiStruct, frozen=True):
    phase: str = ""
    capacity: ResourceList = {}


class PersistentVolumeClaim(ApiObject, frozen=True, kw_only=True):
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class PersistentVolumeClaimTemplate(ApiStruct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class ClaimVolumeSource(ApiStruct, frozen=True):
    claim_name: str = ""
    read_only: bool = False


class EphemeralVolumeSource(ApiStruct, frozen=True):
    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class CSIVolumeSource(ApiStruct, frozen=True):
    driver: str = ""
    volume_handle: str = ""


class ImageVolumeSource(ApiStruct, frozen=True):
    reference: str = ""


class EmptyDirVolumeSource(ApiStruct, frozen=True):
    """A directory on the pod's node, deleted together with the pod."""


class LocalVolumeSource(ApiStruct, frozen=True):
    """A disk of one node."""


class HostPathVolumeSource(ApiStruct, frozen=True):
    """A folder of one node."""


class PodCertificateProjection(ApiStruct, frozen=True):
    """A certificate that the kubelet requests for the pod."""

    key_type: str = ""


class VolumeProjection(ApiStruct, frozen=True):
    """A source of a projected volume, of which only certificates are read."""

    pod_certificate: PodCertificateProjection | None = None


class ProjectedVolumeSource(ApiStruct, frozen=True):
    sources: tuple[VolumeProjection, ...] = ()


class Volume(InTreeVolumes, frozen=True, kw_only=True):
    """A volume of a pod, with the sources that scheduling and drains read."""

    name: str = ""
    persistent_volume_claim: ClaimVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    image: ImageVolumeSource | None = None
    empty_dir: EmptyDirVolumeSource | None = None
    projected: ProjectedVolumeSource | None = None

    @property
    def certificate_keys(self) -> tuple[str, ...]:
        """The key types of the certificates in a projected volume."""
        sources = self.projected.sources if self.projected is not None else ()
        return tuple(each.pod_certificate.key_type for each in sources if each.pod_certificate is not None)


class VolumeNodeAffinity(ApiStruct, frozen=True):
    required: NodeSelector | None = None


class PersistentVolumeSpec(InTreeVolumes, frozen=True, kw_only=True):
    capacity: ResourceList = {}
    access_modes: tuple[str, ...] = ()
    claim_ref: TypedObjectReference | None = None
    storage_class_name: str = ""
    volume_mode: str = ""
    volume_attributes_class_name: str | None = None
    persistent_volume_reclaim_policy: str = ""
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSIVolumeSource | None = None
    local: LocalVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None


class PersistentVolumeStatus(ApiStruct, frozen=True):
    phase: str = ""


class PersistentVolume(ApiObject, frozen=True, kw_only=True):
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


# Storage classes and the objects that CSI drivers report (storage.k8s.io/v1).


class TopologySelectorLabelRequirement(ApiStruct, frozen=True):
    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(ApiStruct, frozen=True):
    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] = ()


class StorageClass(ApiObject, frozen=True, kw_only=True):
    provisioner: str = ""
    volume_binding_mode: str = ""
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()
    parameters: dict[str, str] = {}


class VolumeNodeResources(ApiStruct, frozen=True):
    count: Int32 | None = None


class CSINodeDriver(ApiStruct, frozen=True):
    name: str = ""
    node_id: str = field(default="", name="nodeID")
    topology_keys: tuple[str, ...] = ()
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(ApiStruct, frozen=True):
    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(ApiObject, frozen=True, kw_only=True):
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(ApiStruct, frozen=True):
    attach_required: bool = True
    storage_capacity: bool = False
    prevent_pod_scheduling_if_missing: bool = False


class CSIDriver(ApiObject, frozen=True, kw_only=True):
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(ApiObject, frozen=True, kw_only=True):
    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: QuantityText | None = None
    maximum_volume_size: QuantityText | None = None


class VolumeAttachmentSource(ApiStruct, frozen=True):
    persistent_volume_name: str = ""


class VolumeAttachmentSpec(ApiStruct, frozen=True):
    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachment(ApiObject, frozen=True, kw_only=True):
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()


class VolumeAttributesClass(ApiObject, frozen=True, kw_only=True):
    driver_name: str = ""
    parameters: dict[str, str] = {}


#: Words in names of storage classes, provisioners and drivers: of volumes that nodes share, and of volumes on one node.
_SHARED: Final = ("nfs", "efs", "filestore", "azurefile", "cephfs", "smb", "cifs", "nas", "glusterfs", "fsx", "rwx")


_NODE_LOCAL: Final = ("hostpath", "local", "topolvm")


_LOCAL_OR_SHARED: Final = frozenset(
    ("file.csi.azure.com", "kubernetes.io/azure-file", "kubernetes.io/no-provisioner", "openebs.io/local")
)


_WORDS: Final = pattern(r"[a-z0-9]+")


def is_shared_or_local(name: str) -> bool:
    """Report whether a storage class, provisioner, driver or kind of volume is of shared or node-local storage.

    >>> is_shared_or_local("efs.csi.aws.com"), is_shared_or_local("ebs.csi.aws.com")
    (True, False)
    """
    lower = name.lower()
    if lower in _LOCAL_OR_SHARED:
        return True
    words = _WORDS.findall(lower)
    return any(word.startswith((*_SHARED, *_NODE_LOCAL)) or word.endswith("hostpath") for word in words)
