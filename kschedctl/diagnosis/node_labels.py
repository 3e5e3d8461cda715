"""Knowledge about well-known node labels: names of the past, and other spellings of their values."""

from __future__ import annotations

from typing import Final

#: The present label, by deprecated label (pkg/api/node/util.go).
PRESENT_LABELS: Final = {
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
}
#: Labels that Kubernetes or a provider replaced and no longer sets.
REPLACED_LABELS: Final = {
    "node-role.kubernetes.io/master": "node-role.kubernetes.io/control-plane",
}
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
