"""Well-known labels (kubernetes.io reference "Well-Known Labels, Annotations and Taints")."""

from collections.abc import Mapping
from typing import Final

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
BETA_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION: Final = "failure-domain.beta.kubernetes.io/region"
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
BETA_INSTANCE_TYPE: Final = "beta.kubernetes.io/instance-type"
#: The labels with which providers name the pool of a node, each with the provider's word for a pool.
POOL_LABELS: Final = {
    "eks.amazonaws.com/nodegroup": "nodegroup",
    "alpha.eksctl.io/nodegroup-name": "nodegroup",
    "cloud.google.com/gke-nodepool": "node pool",
    "kubernetes.azure.com/agentpool": "agent pool",
    "agentpool": "agent pool",
    "karpenter.sh/nodepool": "NodePool",
}
#: The last parts of other labels that name a pool, such as ``doks.digitalocean.com/node-pool``.
_POOL_NAMES: Final = ("pool", "nodepool", "node-pool", "nodegroup", "node-group", "instancegroup", "pool-name")
POD_TEMPLATE_HASH: Final = "pod-template-hash"
#: The labels of the architecture and the operating system of a node. An image runs on the platforms it is built for.
PLATFORM_LABELS: Final = frozenset((
    "kubernetes.io/arch", "kubernetes.io/os", "beta.kubernetes.io/arch", "beta.kubernetes.io/os",
))  # fmt: skip
#: The labels that identify a node or its place.
PLACE_LABELS: Final = frozenset((HOSTNAME, ZONE, REGION, BETA_ZONE, BETA_REGION))
#: The domains of labels and taints that describe machines and their pools.
_POOL_DOMAINS: Final = (
    "kubernetes.io",
    "k8s.io",
    "kubernetes.azure.com",
    "eks.amazonaws.com",
    "cloud.google.com",
    "karpenter.sh",
    "k8s.aws",
    "oraclecloud.com",
    "virtual-kubelet.io",
)


def zone_of(labels: Mapping[str, str]) -> str:
    """Return the zone in the labels of a node; empty if they contain none.

    >>> zone_of({"topology.kubernetes.io/zone": "eu-1a"}), zone_of({})
    ('eu-1a', '')
    """
    return labels.get(ZONE) or labels.get(BETA_ZONE, "")


def instance_type_of(labels: Mapping[str, str]) -> str:
    """Return the instance type in the labels of a node; empty if they contain none."""
    return labels.get(INSTANCE_TYPE) or labels.get(BETA_INSTANCE_TYPE, "")


def pool_name(labels: Mapping[str, str]) -> str:
    """Return the name of a node's pool, from the label of its provider or from one that is named after pools.

    >>> pool_name({"eks.amazonaws.com/nodegroup": "general"}), pool_name({"shop.example/pool": "gpu"}), pool_name({})
    ('general', 'gpu', '')
    """
    others = (key for key in sorted(labels) if key.rpartition("/")[2] in _POOL_NAMES)
    return next((labels[key] for key in (*POOL_LABELS, *others) if labels.get(key)), "")


def describes_pool(key: str) -> bool:
    """Report whether a label or taint describes a machine or its pool, other than its place.

    Such keys are managed by the component that creates the node: a cloud provider, a node autoscaler or the kubelet.
    """
    domain, slash, _ = key.rpartition("/")
    return bool(slash) and key not in PLACE_LABELS and domain.endswith(_POOL_DOMAINS)


#: The present label, by deprecated label (pkg/api/node/util.go).
PRESENT_LABELS: Final = {
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
}


#: Labels that Kubernetes or a provider replaced and no longer sets.
REPLACED_LABELS: Final = {"node-role.kubernetes.io/master": "node-role.kubernetes.io/control-plane"}


#: The value of kubernetes.io/arch for other names of an architecture.
ARCHITECTURES: Final = {
    "x86_64": "amd64",
    "x86-64": "amd64",
    "x64": "amd64",
    "x86": "386",
    "i386": "386",
    "i686": "386",
    "aarch64": "arm64",
    "armv8": "arm64",
    "arm64v8": "arm64",
    "armv7": "arm",
    "armv7l": "arm",
    "armhf": "arm",
}


ARCH_LABELS: Final = ("kubernetes.io/arch", "beta.kubernetes.io/arch")


OS_LABELS: Final = ("kubernetes.io/os", "beta.kubernetes.io/os")
