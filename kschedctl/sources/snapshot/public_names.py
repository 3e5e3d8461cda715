"""Names that are common to all clusters: they are kept in an anonymised snapshot because they reveal nothing."""

import re
from typing import Final

from kschedctl.objects.karpenter import INSTANCE_LABELS
from kschedctl.objects.kinds import KINDS, plural

#: Names, label values and words with a meaning for scheduling or for Kubernetes itself.
KEPT_WORDS: Final = frozenset(
    {
        "",
        *"""
            true false yes linux windows amd64 arm64 default kube-system kube-public kube-node-lease
            default-scheduler system-cluster-critical system-node-critical UNSPECIFIED
        """.split(),
        # The capacity types of Karpenter.
        *"spot on-demand reserved".split(),
        # The leases of the control plane's leader elections, and their candidates.
        *"kube-scheduler kube-controller-manager cloud-controller-manager".split(),
        # The CSI drivers that replaced in-tree plugins: the scheduler knows them by name.
        *"""
            cinder.csi.openstack.org csi.vsphere.vmware.com disk.csi.azure.com ebs.csi.aws.com
            file.csi.azure.com pd.csi.storage.gke.io pxd.portworx.com
        """.split(),
    }
)
#: In-tree provisioners and volume plugins, and the provisioner names that stand for none.
_IN_TREE: Final = frozenset(
    f"kubernetes.io/{name}"
    for name in """
        aws-ebs azure-disk azure-file cinder csi gce-pd glusterfs host-path iscsi local-volume no-provisioner nfs
        portworx-volume rbd vsphere-volume
    """.split()
)
_KEPT_KEYS: Final = frozenset(
    """
    controller-revision-hash controller-uid job-name metadata.name pod-template-generation pod-template-hash
    topology.cinder.csi.openstack.org/zone topology.ebs.csi.aws.com/zone topology.gke.io/zone kubernetes.io/arch
    kubernetes.io/hostname kubernetes.io/metadata.name kubernetes.io/os topology.kubernetes.io/region
    topology.kubernetes.io/zone failure-domain.beta.kubernetes.io/region failure-domain.beta.kubernetes.io/zone
    beta.kubernetes.io/arch beta.kubernetes.io/instance-type beta.kubernetes.io/os node.kubernetes.io/disk-pressure
    node.kubernetes.io/exclude-disruption node.kubernetes.io/exclude-from-external-load-balancers
    node.kubernetes.io/instance-type node.kubernetes.io/memory-pressure node.kubernetes.io/network-unavailable
    node.kubernetes.io/not-ready node.kubernetes.io/out-of-service node.kubernetes.io/pid-pressure
    node.kubernetes.io/unreachable node.kubernetes.io/unschedulable node.kubernetes.io/windows-build
    node.cloudprovider.kubernetes.io/shutdown node.cloudprovider.kubernetes.io/uninitialized
    node-role.kubernetes.io/control-plane node-role.kubernetes.io/master app.kubernetes.io/component
    app.kubernetes.io/instance app.kubernetes.io/managed-by app.kubernetes.io/name app.kubernetes.io/part-of
    app.kubernetes.io/version apps.kubernetes.io/pod-index batch.kubernetes.io/controller-uid
    batch.kubernetes.io/job-completion-index batch.kubernetes.io/job-name statefulset.kubernetes.io/pod-name
    karpenter.k8s.aws/capacity-reservation-id karpenter.k8s.aws/capacity-reservation-type
    karpenter.sh/capacity-type karpenter.sh/disrupted karpenter.sh/do-not-sync-taints karpenter.sh/initialized
    karpenter.sh/nodepool karpenter.sh/rebooting karpenter.sh/registered karpenter.sh/unregistered
    """.split()
)
_DOMAINS: Final = frozenset(key.rpartition("/")[0] for key in _KEPT_KEYS if "/" in key)
_GROUPS: Final = frozenset({group for group, _ in KINDS} | {"autoscaling", "snapshot.storage.k8s.io"})
_COUNTED: Final = frozenset(
    {f"{plural(kind.lower())}.{group}".rstrip(".") for group, kind in KINDS} | {"configmaps", "secrets"}
)
_RESOURCES: Final = frozenset(
    {
        "",
        *"""
            cpu memory ephemeral-storage storage pods configmaps persistentvolumeclaims replicationcontrollers
            resourcequotas secrets services services.loadbalancers services.nodeports
        """.split(),
    }
)
_HUGE_PAGE: Final = re.compile(r"hugepages-[0-9]{1,9}[KMG]i", re.ASCII)


#: The values of fields with a fixed set of values.
_OWN_WORDS: Final = frozenset(
    """
    TCP UDP SCTP Always Never OnFailure Restart RestartAllContainers PreemptLowerPriority Pending Running Succeeded
    Failed Unknown Available Bound Released Lost DoNotSchedule ScheduleAnyway Honor Ignore Shared Dedicated Managed
    Block Filesystem ReadWriteOnce ReadOnlyMany ReadWriteMany ReadWriteOncePod ExactCount All Immediate
    WaitForFirstConsumer Container Pod PodGroup PersistentVolumeClaim Terminating NotTerminating BestEffort
    NotBestEffort PriorityClass CrossNamespacePodAffinity VolumeAttributesClass In NotIn Exists DoesNotExist Gt Lt
    Equal NoSchedule PreferNoSchedule NoExecute Indexed NonIndexed RollingUpdate Recreate OnDelete OrderedReady
    Parallel WhenEmpty WhenEmptyOrUnderutilized Balanced Empty Underutilized Drifted OldestEmulationVersion
    RuntimeDefault Unconfined Localhost OCI RSA3072 RSA4096 ECDSAP256 ECDSAP384 ECDSAP521 ED25519 MLDSA44 MLDSA65
    MLDSA87 NoCoordination GuestSwapBehavior InPlacePodLevelResourcesVerticalScaling
    RestartAllContainersOnContainerExits UserNamespacesHostNetworkSupport
    """.split()
)


def is_own_word(text: str) -> bool:
    """Report whether a text is empty or a value of a field with a fixed set of values."""
    return not text or text in _OWN_WORDS


def is_kept_word(text: str) -> bool:
    """Report whether a name or value means the same in every cluster."""
    return text in KEPT_WORDS or text in _IN_TREE


def is_kept_key(key: str) -> bool:
    """Report whether a label, taint or topology key is one of Kubernetes' own, or says what an instance type is.

    >>> is_kept_key("topology.kubernetes.io/zone"), is_kept_key("team"), is_kept_key("node-role.kubernetes.io/payroll")
    (True, False, False)
    """
    return key in _KEPT_KEYS or key.startswith(INSTANCE_LABELS) or not key


def is_kept_resource(name: str) -> bool:
    """Report whether a resource name, or an object count in a quota, is one of Kubernetes' own.

    >>> [is_kept_resource(name) for name in ("cpu", "hugepages-2Mi", "count/deployments.apps", "acme.com/gpu")]
    [True, True, True, False]
    """
    domain, slash, what = name.rpartition("/")
    if slash:
        return domain == "count" and what in _COUNTED
    return name in _RESOURCES or _HUGE_PAGE.fullmatch(name) is not None


def is_kept_domain(domain: str) -> bool:
    """Report whether the domain of a key is one of Kubernetes' own."""
    return domain in _DOMAINS


def is_kept_group(group: str) -> bool:
    """Report whether an API group is one of Kubernetes' own."""
    return group in _GROUPS
