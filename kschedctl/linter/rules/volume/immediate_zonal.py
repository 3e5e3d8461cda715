"""A storage class creates volumes in one zone immediately, before the pod's zone is known.

With volumeBindingMode Immediate, which is the default, a claim gets its volume as soon as it is created, in any zone.
The pod that uses the volume must be scheduled to that zone, whatever its affinity, its spread constraints or its other
volumes require. The rule ignores classes that restrict topologies, name their zone, or create regional volumes.
Providers whose volumes are all in the one location of a cluster are reported as info.

The API server accepts the object, and pods stay pending ("had volume node affinity conflict").

Repair: volumeBindingMode: WaitForFirstConsumer. A class cannot be changed: it must be recreated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kschedctl.common.findings import Severity
from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem
from kschedctl.linter.rules.volume.immediate_local import binding_at_once
from kschedctl.linter.values import mapping, text

FAILS = """storage.k8s.io/v1 StorageClass gp3
provisioner: ebs.csi.aws.com  # <-
"""
PASSES = FAILS.replace("ebs.csi.aws.com", "ebs.csi.aws.com\nvolumeBindingMode: WaitForFirstConsumer")

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


def check(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    provisioner, parameters = text(obj.raw.get("provisioner")), mapping(obj.raw.get("parameters"))
    if obj.raw.get("allowedTopologies") or _is_regional(parameters):
        return
    if any(name.lower() in _ZONE_PARAMETERS and value for name, value in parameters.items()):
        return
    consequence = f"{provisioner} creates a volume in one zone before the pod's zone is known"
    severity = Severity.INFO if provisioner in _ONE_PLACE else None
    for found in binding_at_once(obj, _ZONAL | _ONE_PLACE, consequence):
        yield replace(found, severity=severity)


def _is_regional(parameters: object) -> bool:
    for name, value in mapping(parameters).items():
        lower = str(value).lower()
        if name.lower() == "replication-type" and lower == "regional-pd":
            return True
        if name.lower() in ("skuname", "storageaccounttype") and lower.endswith("_zrs"):
            return True
    return False
