"""Names that every cluster has and that tell nothing of one: they keep their meaning in an anonymised snapshot."""

from __future__ import annotations

import re
from typing import Final

#: Names, label values and words that scheduling or Kubernetes itself gives a meaning.
KEPT_WORDS: Final = frozenset(
    {
        "",
        "true",
        "false",
        "yes",
        "linux",
        "windows",
        "amd64",
        "arm64",
        "default",
        "kube-system",
        "kube-public",
        "kube-node-lease",
        "default-scheduler",
        "system-cluster-critical",
        "system-node-critical",
        "UNSPECIFIED",
        # The CSI drivers that took the place of in-tree plugins: scheduling knows them by name.
        "cinder.csi.openstack.org",
        "csi.vsphere.vmware.com",
        "disk.csi.azure.com",
        "ebs.csi.aws.com",
        "file.csi.azure.com",
        "pd.csi.storage.gke.io",
        "pxd.portworx.com",
    }
)
_KEPT_PREFIX: Final = "kubernetes.io/"
_KEPT_KEYS: Final = frozenset(
    {
        "controller-revision-hash",
        "controller-uid",
        "job-name",
        "metadata.name",
        "pod-template-generation",
        "pod-template-hash",
        "topology.cinder.csi.openstack.org/zone",
        "topology.ebs.csi.aws.com/zone",
        "topology.gke.io/zone",
    }
)
_DOMAIN: Final = re.compile(r"(?:[a-z0-9.-]+\.)?(?:kubernetes\.io|k8s\.io)", re.ASCII)
#: Domains of Kubernetes in which everybody makes up names.
_OPEN_DOMAINS: Final = frozenset({"node-restriction.kubernetes.io", "node-role.kubernetes.io"})
_GROUPS: Final = frozenset({"", "apps", "autoscaling", "batch", "policy"})
_COUNT: Final = "count"
_HUGE_PAGES: Final = "hugepages-"
_RESOURCES: Final = frozenset(
    {
        "",
        "cpu",
        "memory",
        "ephemeral-storage",
        "storage",
        "pods",
        "configmaps",
        "persistentvolumeclaims",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
        "services.loadbalancers",
        "services.nodeports",
    }
)
_ROLES: Final = frozenset({"control-plane", "master"})


def is_kept_word(text: str) -> bool:
    """Whether a name or value means the same in every cluster."""
    return text in KEPT_WORDS or text.startswith(_KEPT_PREFIX)


def is_kept_key(key: str) -> bool:
    """Whether a label, taint or topology key is one of Kubernetes' own.

    Examples
    --------
    >>> is_kept_key("topology.kubernetes.io/zone"), is_kept_key("team"), is_kept_key("node-role.kubernetes.io/payroll")
    (True, False, False)
    """
    if key in _KEPT_KEYS or not key:
        return True
    domain, slash, name = key.rpartition("/")
    return bool(slash) and is_kept_domain(domain) and (domain not in _OPEN_DOMAINS or name in _ROLES)


def is_kept_resource(name: str) -> bool:
    """Whether a resource, or what a quota counts, is one of Kubernetes' own.

    Examples
    --------
    >>> [is_kept_resource(name) for name in ("cpu", "hugepages-2Mi", "count/deployments.apps", "acme.com/gpu")]
    [True, True, True, False]
    """
    domain, slash, what = name.rpartition("/")
    if domain == _COUNT:
        return is_kept_group(what.partition(".")[2])
    return is_kept_domain(domain) if slash else name in _RESOURCES or name.startswith(_HUGE_PAGES)


def is_kept_group(group: str) -> bool:
    """Whether an API group is one of Kubernetes' own."""
    return group in _GROUPS or is_kept_domain(group)


def is_kept_domain(domain: str) -> bool:
    """Whether a domain is one of Kubernetes' own."""
    return _DOMAIN.fullmatch(domain) is not None
