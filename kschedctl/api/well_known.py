"""Well-known labels (kubernetes.io reference "Well-Known Labels, Annotations and Taints")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
BETA_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION: Final = "failure-domain.beta.kubernetes.io/region"
POD_TEMPLATE_HASH: Final = "pod-template-hash"


def zone_of(labels: Mapping[str, str]) -> str:
    """Return the zone in the labels of a node; empty if they contain none.

    Examples
    --------
    >>> zone_of({"topology.kubernetes.io/zone": "eu-1a"}), zone_of({})
    ('eu-1a', '')
    """
    return labels.get(ZONE) or labels.get(BETA_ZONE, "")
