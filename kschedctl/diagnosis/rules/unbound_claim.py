"""A claim has no volume, and the scheduler does not bind it: "pod has unbound immediate PersistentVolumeClaims".

The scheduler waits until the PersistentVolume controller or a provisioner has bound the claim. The rule names what they
wait for: a StorageClass that does not exist, no default class, a provisioner that has not created the volume, or a
volume that matches the claim.

Operators create the class, or delete the claim and create it with another class, as the class of a claim cannot be
changed. Without a volume, no data is lost. If the class has a provisioner, the events of the claim have its message.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.diagnosis.claims import diagnose_unbound
from kschedctl.diagnosis.diagnosis import Diagnosis
from kschedctl.diagnosis.situation import Situation
from kschedctl.objects.workload import StatefulSet
from kschedctl.scheduler.framework.status import Code
from kschedctl.scheduler.volumes.claims import claims_problem, group_claims, pod_claims

#: The plugins whose PreFilter rejects a pod because of its claims.
VOLUME_PLUGINS: Final = ("VolumeBinding", "VolumeZone", "VolumeRestrictions", "NodeVolumeLimits")


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the causes for which the pod's claims are not bound."""
    if not rejected_by_volumes(situation) or claims_problem(situation.cluster, situation.pod):
        return
    claims = group_claims(situation.cluster, pod_claims(situation.cluster, situation.pod)).immediate
    yield from diagnose_unbound(situation.cluster, {claim.name: claim for claim in claims}.values())


def rejected_by_volumes(situation: Situation) -> bool:
    """Report whether a volume plugin rejected the pod before Filter."""
    outcome = situation.decision.pre_filter
    if situation.filtered or outcome is None or outcome.status.code is Code.SUCCESS:
        return False
    return outcome.status.plugin in VOLUME_PLUGINS


def is_of_template(situation: Situation, claim: str) -> bool:
    """Report whether a claim comes from the ``volumeClaimTemplates`` of the pod's StatefulSet."""
    kind, namespace, name = situation.workload
    found = situation.cluster.get(StatefulSet, name, namespace) if kind == StatefulSet.__name__ else None
    templates = found.spec.volume_claim_templates if found is not None else ()
    return any(claim == f"{template.name}-{situation.pod.name}" for template in templates)
