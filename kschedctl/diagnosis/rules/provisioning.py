"""The scheduler has chosen a node for a claim, and the provisioner has not created the volume.

The scheduler writes the node into the claim (annotation ``volume.kubernetes.io/selected-node``), and binds the pod only
when the provisioner has created the volume. Until then the pod stays pending although it fits. Often the CSI driver of
the class is not installed, or it lacks a permission of the cloud. The events of the claim have the driver's message.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.diagnosis.components import ill_provisioner
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis
from kschedctl.diagnosis.provisioners import driver_of, install_advice, repair_advice, unregistered_driver
from kschedctl.diagnosis.situation import Situation
from kschedctl.scheduler.framework.remedy import Risk
from kschedctl.scheduler.volumes.claims import (
    SELECTED_NODE,
    claim_class,
    group_claims,
    is_static,
    pod_claims,
    storage_class_of,
)


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the claims of a pod that fits whose volumes are still to be created on the chosen node."""
    cluster, pod = situation.cluster, situation.pod
    if pod.status.phase not in ("", "Pending"):
        return
    for claim in {claim.name: claim for claim in group_claims(cluster, pod_claims(cluster, pod)).delayed}.values():
        node, storage_class = claim.metadata.annotations.get(SELECTED_NODE), storage_class_of(cluster, claim)
        if node is None or storage_class is None or is_static(storage_class):
            continue
        driver = unregistered_driver(cluster, storage_class)
        ill = ill_provisioner(cluster, driver_of(storage_class.provisioner))
        why = f", and no node has registered CSI driver {driver}" if driver else ""
        if ill is not None:
            why = f", and {ill[1]}"
        describe = f"kubectl describe pvc -n {claim.namespace} {claim.name}"
        provisioner = storage_class.provisioner
        look = Advice(
            summary=f"look at the events of claim {claim.name} and the log of provisioner {provisioner}",
            risk=Risk.MISTAKE if ill is None else Risk.POD,
            untried="the provisioner creates the volume outside the scheduler",
            command=describe,
        )
        yield Diagnosis(
            rule="claim-not-provisioned",
            cause=(
                f"claim {claim.name} of StorageClass {claim_class(claim)} waits until provisioner {provisioner} "
                f"creates its volume for node {node}{why}"
            ),
            advice=(
                *((repair_advice(ill[0]),) if ill is not None else (install_advice(driver),) if driver else ()),
                look,
            ),
            checks=(describe,),
        )
