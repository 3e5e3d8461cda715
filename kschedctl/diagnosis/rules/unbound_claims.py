"""The causes for which a claim of a pod is not bound: its class, its provisioner, or the volumes that do not match."""

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.default_storage_class import BETA_STORAGE_CLASS, default_storage_class, has_class
from kschedctl.common.wording import counted, listed, similar
from kschedctl.diagnosis.components import (
    failure_of_provisioner,
    is_csi_driver,
    provisioner_fault,
    repair_of_provisioner,
)
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis, Situation
from kschedctl.diagnosis.evidence.events import events_about, one_line, said
from kschedctl.objects.selectors import SelectorError
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim, StorageClass
from kschedctl.objects.well_known import HOSTNAME
from kschedctl.objects.workload import StatefulSet
from kschedctl.scheduler.framework.remedy import Remedy, add_operation, patched, remove_operation
from kschedctl.scheduler.framework.risk import RemedyScope, Risk
from kschedctl.scheduler.framework.status import Code
from kschedctl.scheduler.volumes.claims import (
    SELECTED_NODE,
    WAIT_FOR_FIRST_CONSUMER,
    claim_class,
    claims_problem,
    group_claims,
    is_static,
    pod_claims,
    requested_storage,
    storage_class_of,
    volume_class,
    volume_of,
)
from kschedctl.scheduler.volumes.csi_nodes import driver_of
from kschedctl.scheduler.volumes.matching import Mismatch, claim_selector, mismatches, show_storage

# The cures that give claims another class: it is set where there is none, else the claims are recreated.

#: At most this many classes are proposed for a claim.
_MOST_CLASSES: Final = 3


def template_change(cluster: Cluster, claim: PersistentVolumeClaim) -> tuple[str, str]:
    """Return what comes before a claim is recreated with other fields, as words and as a command; empty for nothing.

    A StatefulSet creates the claims of its ``volumeClaimTemplates`` again as they were. These cannot be changed in
    place.
    """
    for each in cluster.list(StatefulSet):
        set_name, _, ordinal = claim.name.rpartition("-")
        names = [f"{template.name}-{each.name}" for template in each.spec.volume_claim_templates]
        if each.namespace == claim.namespace and set_name in names and ordinal.isdigit():
            return (
                f"change volumeClaimTemplates of StatefulSet {each.namespace}/{each.name} (recreate it with "
                "--cascade=orphan), then ",
                f"kubectl delete statefulset -n {each.namespace} {each.name} --cascade=orphan && ",
            )
    return "", ""


def recreation_command(cluster: Cluster, claims: Sequence[PersistentVolumeClaim], then: str) -> str:
    """Return the command that deletes claims of one namespace, with a comment about the manifest to apply next."""
    first = "".join(dict.fromkeys(template_change(cluster, claim)[1] for claim in claims))
    return f"{first}kubectl delete pvc -n {claims[0].namespace} {' '.join(claim.name for claim in claims)}  # {then}"


def other_classes(cluster: Cluster, claims: Sequence[PersistentVolumeClaim]) -> Iterator[Remedy]:
    """Yield the change of the claims' class to one that waits for the first consumer, so that it can be tried."""
    without_beta = remove_operation("metadata", "annotations", BETA_STORAGE_CLASS)
    for i, storage_class in enumerate(_candidate_classes(cluster, claims, waits=True)):
        yield Remedy(
            summary=_change_of_class(cluster, claims, storage_class.name),
            scope=RemedyScope.CLUSTER,
            changes=tuple(
                patched(
                    claim,
                    *([without_beta] if BETA_STORAGE_CLASS in claim.metadata.annotations else []),
                    add_operation(storage_class.name, "spec", "storageClassName"),
                )
                for claim in claims
            ),
            risk=Risk.MISTAKE,
            family="storage class",
            within=float(i),
            command=_command_for_class(cluster, claims, storage_class.name),
        )


def other_immediate_classes(cluster: Cluster, claims: Sequence[PersistentVolumeClaim]) -> Iterator[Advice]:
    """Yield the change to a class that provisions at once, if there is none that waits; it cannot be tried."""
    waiting = any(True for _ in _candidate_classes(cluster, claims, waits=True))
    for storage_class in list(_candidate_classes(cluster, claims, waits=False))[: 0 if waiting else 1]:
        yield Advice(
            summary=_change_of_class(cluster, claims, storage_class.name),
            risk=Risk.MISTAKE,
            untried=f"provisioner {storage_class.provisioner} creates the volume at once",
            command=_command_for_class(cluster, claims, storage_class.name),
        )


def _candidate_classes(
    cluster: Cluster, claims: Sequence[PersistentVolumeClaim], *, waits: bool
) -> Iterator[StorageClass]:
    """Yield classes with a provisioner, at most 3: those of a similar name first, then the default class."""
    name, default = claim_class(claims[0]), default_storage_class(cluster)
    usable = [
        one
        for one in cluster.list(StorageClass)
        if not is_static(one) and (one.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER) == waits
    ]
    likely = similar(name, [one.name for one in usable]) if name else []
    usable.sort(key=lambda one: (one.name not in likely, default is None or one.name != default.name, one.name))
    yield from usable[:_MOST_CLASSES]


def _change_of_class(cluster: Cluster, claims: Sequence[PersistentVolumeClaim], name: str) -> str:
    if has_class(claims[0]):
        if first := "".join(dict.fromkeys(template_change(cluster, claim)[0] for claim in claims)):
            return f"{first}recreate {subject(claims)} with class {name}"
        return f"recreate {subject(claims)} with class {name}: the class of a claim cannot be changed"
    return f"set storageClassName {name} in {subject(claims)}"


def _command_for_class(cluster: Cluster, claims: Sequence[PersistentVolumeClaim], name: str) -> str:
    namespace, names = claims[0].namespace, " ".join(claim.name for claim in claims)
    if has_class(claims[0]):
        then = f"then apply the manifest with storageClassName: {name}; there is no volume yet, so no data is lost"
        return recreation_command(cluster, claims, then)
    return f'kubectl patch pvc -n {namespace} {names} -p \'{{"spec":{{"storageClassName":"{name}"}}}}\''


def subject(claims: Sequence[PersistentVolumeClaim]) -> str:
    """Return claims as the subject of a sentence."""
    names = listed([claim.name for claim in claims])
    return f"claim {names}" if len(claims) == 1 else f"claims {names}"


#: At most this many volumes and classes are named.
_MOST_NAMED: Final = 3
_NAMED_CLASSES: Final = 6
_WITHOUT_CLAIM: Final = '[{"op":"remove","path":"/spec/claimRef"}]'
_WITHOUT_UID: Final = '[{"op":"remove","path":"/spec/claimRef/uid"}]'
_MANY: Final = "ReadWriteMany"
#: The change of a claim by the field in which a volume differs.
_ADAPTED: Final = {
    "accessModes": "accessModes {found}",
    "storageClassName": "storageClassName {found}",
    "capacity": "a request of {found}",
}
_WORDS: Final = {
    "capacity": "has {found} of the {wanted}",
    "accessModes": "offers {found}, not {wanted}",
    "storageClassName": "has class {found}",
    "claimRef": "is reserved for claim {found}",
    "phase": "is {found}",
    "selector": "does not match the claim's selector {wanted}",
    "volumeMode": "has volumeMode {found}, not {wanted}",
    "deletionTimestamp": "is being deleted",
}


def diagnose_unbound(cluster: Cluster, claims: Iterable[PersistentVolumeClaim]) -> Iterator[Diagnosis]:
    """Yield the causes for which claims are not bound, one per problem; claims of one class share it.

    Args:
        claims: Claims of one namespace that are not bound, and that the scheduler does not bind.
    """
    groups: dict[tuple[str, ...], list[PersistentVolumeClaim]] = {}
    for claim in claims:
        if claim.spec.volume_name:
            yield _names_volume(cluster, claim)
            continue
        groups.setdefault(_class_problem(cluster, claim), []).append(claim)
    for (problem, name), members in groups.items():
        match problem:
            case "no such class":
                classes = sorted(one.name for one in cluster.list(StorageClass))
                has = (
                    f"the cluster has {listed(classes, most=_NAMED_CLASSES)}"
                    if classes
                    else "the snapshot has no StorageClass"
                )
                likely = similar(name, classes)
                yield Diagnosis(
                    rule="missing-storage-class",
                    cause=f"{subject(members)} {_verb(members, 'wants', 'want')} StorageClass {name}, which does not exist: {has}",
                    evidence=("nothing provisions a volume for a class that does not exist",),
                    remedies=tuple(other_classes(cluster, members)),
                    advice=(
                        *other_immediate_classes(cluster, members),
                        Advice(
                            summary=f"create StorageClass {name}, with the provisioner of {likely[0] if likely else 'the cluster'}",
                            risk=Risk.MISTAKE if not classes else Risk.SHARED,
                            untried="its provisioner then creates the volume",
                            command=(
                                f"kubectl get storageclass {likely[0]} -o yaml  # apply a copy with the name {name}"
                                if likely
                                else f"# apply a StorageClass {name} with a provisioner that runs in the cluster"
                            ),
                        ),
                    ),
                    checks=("kubectl get storageclass",),
                )
            case "no class":
                yield _no_class(cluster, members)
            case "static":
                yield from (no_volume_matches(cluster, claim) for claim in members)
            case _:
                yield _not_provisioned(cluster, members, name)


def _class_problem(cluster: Cluster, claim: PersistentVolumeClaim) -> tuple[str, str]:
    name = claim_class(claim)
    if not name:
        return ("static" if has_class(claim) else "no class"), ""
    storage_class = cluster.get(StorageClass, name)
    if storage_class is None:
        # Volumes can have a class without such an object: then it is only a name by which claims find them.
        static = any(volume_class(volume) == name for volume in cluster.list(PersistentVolume))
        return ("static" if static else "no such class"), name
    return ("static" if is_static(storage_class) else "provisioned"), name


def _no_class(cluster: Cluster, claims: Sequence[PersistentVolumeClaim]) -> Diagnosis:
    default = default_storage_class(cluster)
    classes = sorted(one.name for one in cluster.list(StorageClass))
    if default is not None:
        cause = (
            f"{subject(claims)} {_verb(claims, 'has', 'have')} no StorageClass yet: the PersistentVolume controller "
            f"has not set the default class {default.name}"
        )
        checks = ("kubectl get pods -n kube-system -l component=kube-controller-manager",)
    else:
        has = f" (the cluster has {listed(classes, most=_NAMED_CLASSES)})" if classes else ""
        cause = f"{subject(claims)} {_verb(claims, 'names', 'name')} no StorageClass, and no class is the default{has}"
        checks = ("kubectl get storageclass",)
    mark = "storageclass.kubernetes.io/is-default-class"
    named = classes[0] if len(classes) == 1 else "CLASS"
    advice = Advice(
        summary=f"make {'a class' if named == 'CLASS' else named} the default: annotation {mark}=true",
        risk=Risk.SHARED,
        untried="the PersistentVolume controller then sets it in claims without a class",
        command=f"kubectl annotate storageclass {named} {mark}=true",
    )
    create = Advice(
        summary="install a provisioner with a default StorageClass, or create a PersistentVolume for the claim",
        risk=Risk.SHARED,
        untried="the snapshot has no StorageClass",
    )
    return Diagnosis(
        rule="no-default-storage-class" if default is None else "default-class-not-set",
        cause=cause,
        evidence=(why_no_volume(cluster, claims[0]),) if len(claims) == 1 else (),
        remedies=tuple(other_classes(cluster, claims)),
        advice=(
            *(adapted_claim(cluster, claims[0]) if len(claims) == 1 and default is None else ()),
            *other_immediate_classes(cluster, claims),
            *((advice if classes else create,) if not default else ()),
        ),
        checks=checks,
    )


def _not_provisioned(cluster: Cluster, claims: Sequence[PersistentVolumeClaim], name: str) -> Diagnosis:
    storage_class = cluster.get(StorageClass, name)
    provisioner = storage_class.provisioner if storage_class is not None else ""
    namespace = claims[0].namespace
    names = " ".join(claim.name for claim in claims)
    fault, repair, _ = provisioner_fault(cluster, provisioner)
    words = failure_of_provisioner(cluster, claims)
    pods = f"kubectl get pods -A | grep {provisioner.rpartition('/')[2]}"
    return Diagnosis(
        rule="claim-not-provisioned",
        cause=(
            f"{subject(claims)} of StorageClass {name} {_verb(claims, 'has', 'have')} no volume yet: provisioner "
            f"{provisioner} has not created {_verb(claims, 'it', 'them')} (binding mode Immediate, so it does not wait "
            f"for the pod){fault and f'; {fault}'}{words and f': {words}'}"
        ),
        advice=(
            *repair,
            Advice(
                summary=repair_of_provisioner(subject(claims), provisioner, words),
                risk=Risk.POD if fault else Risk.WAIT,
                untried="the provisioner creates the volume outside the scheduler",
                command=f"kubectl describe pvc -n {namespace} {names}",
            ),
            *(
                ()
                if fault or words
                else (
                    Advice(
                        summary=f"volumeBindingMode {WAIT_FOR_FIRST_CONSUMER} in StorageClass {name}, which is recreated, if its "
                        "provisioner has to know the node",
                        risk=Risk.SHARED,
                        untried=f"provisioner {provisioner} has to create the volume in either mode",
                        command=f"kubectl get storageclass {name} -o yaml  # recreate it with the other volumeBindingMode",
                    ),
                )
            ),
        ),
        checks=(
            f"kubectl describe pvc -n {namespace} {names}",
            "kubectl get csidrivers" if is_csi_driver(cluster, driver_of(provisioner)) else pods,
        ),
    )


def _names_volume(cluster: Cluster, claim: PersistentVolumeClaim) -> Diagnosis:
    """Return the diagnosis of a claim that names its volume, and is not bound to it yet."""
    name, volume = claim.spec.volume_name, volume_of(cluster, claim)
    checks = (_describe(claim), f"kubectl get pv {name} -o yaml")
    if volume is None:
        cause = f"claim {claim.name} names volume {name}, which does not exist"
        summary = f"create PersistentVolume {name}, or recreate claim {claim.name} without volumeName"
        advice = (Advice(summary=summary, risk=Risk.SHARED, untried="the volume is not in the snapshot"),)
        return Diagnosis(rule="claim-names-missing-volume", cause=cause, advice=advice, checks=checks)
    found = list(mismatches(claim, volume, None))
    # The controller ignores the phase and the labels of a volume that the claim names.
    fields = {one.field for one in found} - {"phase", "selector"}
    if fields:
        differs = _mismatch_text(claim, found)
        return Diagnosis(
            rule="claim-and-volume-disagree",
            cause=f"claim {claim.name} names volume {name}, which cannot be bound to it: {name} {differs}",
            advice=tuple(_agreement(cluster, claim, volume, fields)),
            checks=checks,
        )
    cause = f"claim {claim.name} is not bound to volume {name} yet: the PersistentVolume controller is about to do it"
    return Diagnosis(rule="binding-not-complete", cause=cause, checks=checks)


def _agreement(
    cluster: Cluster, claim: PersistentVolumeClaim, volume: PersistentVolume, fields: Set[str]
) -> Iterator[Advice]:
    """Yield what lets a claim be bound to the volume that it names, or to another one if that one cannot be had."""
    summary = f"recreate claim {claim.name} so that it matches {volume.name}, or without volumeName"
    if fields == {"claimRef"} and not _names_namesake(volume, claim) and _is_left(cluster, volume):
        owner = volume.spec.claim_ref
        other = f"{owner.namespace}/{owner.name}" if owner is not None else ""
        yield Advice(
            summary=f"look at the data on {volume.name}, then free it for claim {claim.name}: remove its claimRef",
            risk=Risk.MISTAKE,
            untried=f"the data is that of deleted claim {other}; the PersistentVolume controller then binds the claim",
            command=f"kubectl patch pv {volume.name} --type=json -p '{_WITHOUT_CLAIM}'",
        )
        return
    if "deletionTimestamp" in fields or ("claimRef" in fields and not _names_namesake(volume, claim)):
        summary = f"recreate claim {claim.name} without volumeName, or with that of a free volume"
    elif "claimRef" in fields:
        # A new claim would have another uid, too.
        yield _freeing_advice(volume, claim)
    if fields != {"claimRef"} or not _names_namesake(volume, claim):
        yield Advice(summary=summary, risk=Risk.MISTAKE, untried="the claim has no volume, so no data is lost")


def no_volume_matches(cluster: Cluster, claim: PersistentVolumeClaim) -> Diagnosis:
    """Return the diagnosis of a claim that only an existing volume can be bound to, and none matches."""
    name = claim_class(claim)
    if not name:
        only = 'asks for no StorageClass (storageClassName ""), so nothing provisions a volume'
    elif cluster.get(StorageClass, name) is None:
        only = f"wants class {name}, which only volumes name: there is no such StorageClass to provision one"
    else:
        only = f"wants class {name}, which has no provisioner"
    about_to_be = next((volume for volume, why in _mismatches(cluster, claim) if not why), None)
    if about_to_be is not None:
        cause = f"claim {claim.name} is not bound yet: the PersistentVolume controller can bind {about_to_be.name}"
        return Diagnosis(rule="binding-not-complete", cause=cause, checks=(_describe(claim),))
    own = next(_left_by_namesake(cluster, claim), None)
    if own is not None:
        return Diagnosis(
            rule="volume-is-released",
            cause=(
                f"claim {claim.name} is not bound: its volume {own.name} is Released, as it still names a deleted "
                "claim of the same name by its uid"
            ),
            evidence=(f"claim {claim.name} {only}",),
            advice=(_freeing_advice(own, claim), creation_advice(claim)),
            checks=(_describe(claim), "kubectl get pv"),
        )
    return Diagnosis(
        rule="no-volume-matches",
        cause=f"claim {claim.name} {only}, and {why_no_volume(cluster, claim)}",
        advice=(creation_advice(claim), *adapted_claim(cluster, claim), *released(cluster, claim)),
        checks=(_describe(claim), "kubectl get pv"),
    )


def adapted_claim(cluster: Cluster, claim: PersistentVolumeClaim) -> Iterator[Advice]:
    """Yield the advice to recreate a claim so that one free volume matches it that differs in one field alone."""
    for volume, why in sorted(_mismatches(cluster, claim), key=lambda item: item[0].name):
        if len(why) == 1 and why[0].field == "selector" and volume.status.phase in ("", "Available"):
            labels = claim.spec.selector.match_labels if claim.spec.selector is not None else {}
            if labels:
                text = " ".join(f"{key}={value}" for key, value in labels.items())
                yield Advice(
                    summary=f"if volume {volume.name} is meant for claim {claim.name}: give it the label {text}",
                    risk=Risk.MISTAKE,
                    untried="the claim is bound to it later",
                    command=f"kubectl label pv {volume.name} {text} --overwrite",
                )
                return
        words = _ADAPTED.get(why[0].field) if len(why) == 1 else None
        if words is None or volume.status.phase not in ("", "Available"):
            continue
        offered = volume.spec.access_modes
        # A volume of another class, or one with more access modes, gives the pods all that they want.
        same = why[0].field == "storageClassName" or (why[0].field == "accessModes" and _MANY in offered)
        found = ", ".join(offered) if why[0].field == "accessModes" else why[0].found
        first, _ = template_change(cluster, claim)
        yield Advice(
            summary=f"if volume {volume.name} is meant for claim {claim.name}: {first}recreate the claim with "
            f"{words.format(found=found or chr(34) * 2)}",
            risk=Risk.MISTAKE if same else Risk.REDUCED,
            untried="the PersistentVolume controller then binds the claim, which has no data yet",
            command=recreation_command(cluster, [claim], "then apply the corrected manifest"),
        )
        return


def creation_advice(claim: PersistentVolumeClaim) -> Advice:
    """Return the advice to create a volume that matches a claim."""
    size, name = show_storage(requested_storage(claim) or 0), claim_class(claim)
    modes = ", ".join(claim.spec.access_modes)
    wanted = f"{size} or more with {modes or 'any access mode'}{f' and class {name}' if name else ' and no class'}"
    return Advice(
        summary=f"create a PersistentVolume of {wanted}",
        risk=Risk.CAPACITY,
        untried="the claim is bound to it later; the snapshot does not contain the disk",
        command=f"# apply a PersistentVolume of {wanted}, with its disk",
    )


def _mismatches(cluster: Cluster, claim: PersistentVolumeClaim) -> Iterator[tuple[PersistentVolume, list[Mismatch]]]:
    """Yield the volumes of the claim's class with the reasons why they do not match; all volumes if there are none."""
    try:
        selector = claim_selector(claim)
    except SelectorError:
        return
    every = list(cluster.list(PersistentVolume))
    own = [volume for volume in every if volume_class(volume) == claim_class(claim)]
    for volume in own or every:
        yield volume, list(mismatches(claim, volume, selector))


def why_no_volume(cluster: Cluster, claim: PersistentVolumeClaim) -> str:
    """Return the reasons why no volume matches a claim, as a clause: the closest volumes, then the number of others."""
    found = sorted(_mismatches(cluster, claim), key=lambda item: (len(item[1]), item[0].name))
    if not found:
        return "the cluster has no volume"
    name = claim_class(claim)
    scope = f" of class {name}" if name and volume_class(found[0][0]) == name else ""
    taken = [volume.name for volume, why in found if volume.status.phase == "Bound"]
    if len(taken) == len(found) > 1:
        return f"all {len(found)} volumes{scope} are bound to other claims"
    free = [(volume, why) for volume, why in found if why and volume.status.phase != "Bound"]
    told = [f"{volume.name} {_mismatch_text(claim, why)}" for volume, why in free[:_MOST_NAMED]]
    if more := len(free) - len(told):
        told.append(f"{counted(more, 'more volume')} {'does' if more == 1 else 'do'} not match either")
    if len(taken) > 1:
        told.append(f"{len(taken)} are bound to other claims")
    else:
        told += [f"{volume.name} {_mismatch_text(claim, why)}" for volume, why in found if volume.name in taken]
    return f"no volume{scope} matches it: {'; '.join(told)}"


def _mismatch_text(claim: PersistentVolumeClaim, found: Sequence[Mismatch]) -> str:
    """Return the reasons why a volume does not match as text; a taken volume is only called taken."""
    fields = {one.field: one for one in found}
    if "claimRef" in fields:
        owner, phase = fields["claimRef"].found, fields["phase"].found if "phase" in fields else ""
        if phase == "Released":
            same = owner == f"{claim.namespace}/{claim.name}"
            gone = "a deleted claim of the same name" if same else f"claim {owner}, which is gone"
            return f"is Released: it still names {gone}"
        return f"is bound to claim {owner}" if phase == "Bound" else f"is reserved for claim {owner}"
    return " and ".join(_WORDS.get(one.field, str(one)).format(wanted=one.wanted, found=one.found) for one in found)


def released_by_namesake(cluster: Cluster, claim: PersistentVolumeClaim) -> Iterator[Remedy]:
    """Yield the release of a volume that names a deleted claim with the same name: its data belongs to this one."""
    for volume in _left_by_namesake(cluster, claim):
        yield Remedy(
            summary=_freeing(volume, claim),
            scope=RemedyScope.CLUSTER,
            changes=(patched(volume, remove_operation("spec", "claimRef", "uid")),),
            risk=Risk.MISTAKE,
            family="release a volume",
        )


def _left_by_namesake(cluster: Cluster, claim: PersistentVolumeClaim) -> Iterator[PersistentVolume]:
    """Yield the volumes that a deleted claim of the same name has left, and that match apart from that."""
    for volume, why in _mismatches(cluster, claim):
        if _names_namesake(volume, claim) and {one.field for one in why} <= {"claimRef", "phase"}:
            yield volume


def _names_namesake(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Report whether a volume is reserved, by its uid, for a claim of the same name, as a deleted one."""
    reference = volume.spec.claim_ref
    if reference is None or not reference.uid:
        return False
    return (reference.namespace, reference.name) == (claim.namespace, claim.name)


def _freeing(volume: PersistentVolume, claim: PersistentVolumeClaim) -> str:
    return f"free volume {volume.name} for claim {claim.name}: remove the uid of the deleted claim from its claimRef"


def _freeing_advice(volume: PersistentVolume, claim: PersistentVolumeClaim) -> Advice:
    return Advice(
        summary=_freeing(volume, claim),
        risk=Risk.MISTAKE,
        untried="the PersistentVolume controller then binds the claim; look at the data first",
        command=f"kubectl patch pv {volume.name} --type=json -p '{_WITHOUT_UID}'",
    )


def released(cluster: Cluster, claim: PersistentVolumeClaim) -> Iterator[Advice]:
    """Yield the advice to reuse one volume that the deleted claim of another name has left."""
    for volume, why in _mismatches(cluster, claim):
        owner = volume.spec.claim_ref
        if owner is None or (owner.namespace, owner.name) == (claim.namespace, claim.name):
            continue
        if _is_left(cluster, volume) and {one.field for one in why} <= {"claimRef", "phase"}:
            yield Advice(
                summary=f"free {volume.name} if nobody needs the data of deleted claim {owner.namespace}/{owner.name}",
                risk=Risk.DATA,
                untried="the data of another claim is on the volume: erase it first",
                command=f"kubectl patch pv {volume.name} --type=json -p '{_WITHOUT_CLAIM}'",
            )
            return


def _is_left(cluster: Cluster, volume: PersistentVolume) -> bool:
    """Report whether a volume is Released, and the claim that it names does not exist."""
    owner, claims = volume.spec.claim_ref, PersistentVolumeClaim
    if owner is None or volume.status.phase != "Released":
        return False
    return cluster.get(claims, owner.name, owner.namespace) is None and not cluster.is_forbidden(
        claims, owner.namespace
    )


def _verb(claims: Sequence[PersistentVolumeClaim], singular: str, plural: str) -> str:
    return singular if len(claims) == 1 else plural


def _describe(claim: PersistentVolumeClaim) -> str:
    return f"kubectl describe pvc -n {claim.namespace} {claim.name}"


#: The plugins whose PreFilter rejects a pod because of its claims.
VOLUME_PLUGINS: Final = ("VolumeBinding", "VolumeZone", "VolumeRestrictions", "NodeVolumeLimits")


def unbound_claim(situation: Situation) -> Iterator[Diagnosis]:
    """A claim has no volume, and the scheduler does not bind it: "pod has unbound immediate PersistentVolumeClaims".

    The scheduler waits until the PersistentVolume controller or a provisioner has bound the claim. The rule names what they
    wait for: a StorageClass that does not exist, no default class, a provisioner that has not created the volume, or a
    volume that matches the claim.

    Operators create the class, or delete the claim and create it with another class, as the class of a claim cannot be
    changed. Without a volume, no data is lost. If the class has a provisioner, the events of the claim have its message.
    """
    # Yield the causes for which the pod's claims are not bound.
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


def provisioning(situation: Situation) -> Iterator[Diagnosis]:
    """The scheduler has chosen a node for a claim, and the provisioner has not created the volume.

    The scheduler writes the node into the claim (annotation ``volume.kubernetes.io/selected-node``), and binds the pod only
    when the provisioner has created the volume. Until then the pod stays pending although it fits. Often the CSI driver of
    the class is not installed, or it lacks a permission of the cloud. The events of the claim have the driver's message.
    """
    # Yield the claims of a pod that fits whose volumes are still to be created on the chosen node.
    cluster, pod = situation.cluster, situation.pod
    if pod.status.phase not in ("", "Pending"):
        return
    for claim in {claim.name: claim for claim in group_claims(cluster, pod_claims(cluster, pod)).delayed}.values():
        node, storage_class = claim.metadata.annotations.get(SELECTED_NODE), storage_class_of(cluster, claim)
        if node is None or storage_class is None or is_static(storage_class):
            continue
        provisioner = storage_class.provisioner
        fault, repair, is_ill = provisioner_fault(cluster, provisioner)
        words = failure_of_provisioner(cluster, [claim])
        warnings = events_about(cluster, PersistentVolumeClaim.__name__, claim.namespace, claim.name)
        warning = next((each for each in warnings if each.type == "Warning"), None)
        told = words or (one_line(warning.message) if warning is not None else "")
        look = Advice(
            summary=repair_of_provisioner(f"claim {claim.name}", provisioner, words),
            risk=Risk.POD if is_ill else Risk.MISTAKE,
            untried="the provisioner creates the volume outside the scheduler",
            command=_describe(claim),
        )
        yield Diagnosis(
            rule="claim-not-provisioned",
            cause=(
                f"claim {claim.name} of StorageClass {claim_class(claim)} waits until provisioner {provisioner} "
                f"creates its volume for node {node}{fault and f', and {fault}'}{told and f': {told}'}"
            ),
            evidence=(said(warning),) if warning is not None else (),
            advice=(*repair, look),
            checks=(_describe(claim),),
        )


def claim_without_scheduler(situation: Situation) -> Iterator[Diagnosis]:
    """A pod with ``spec.nodeName`` has a claim that waits for its first consumer, and never gets a volume.

    A claim of a class with WaitForFirstConsumer gets its volume when the scheduler has chosen a node: the scheduler writes
    the node into the claim (annotation ``volume.kubernetes.io/selected-node``), and the provisioner reads it there. A pod
    that already names its node never passes the scheduler. So the claim waits forever, and the kubelet waits for the claim.

    Operators replace nodeName by a nodeSelector with the node's hostname label: the pod goes to the same node, through the
    scheduler.
    """
    # Yield the waiting claims of a pod that has a node and did not pass the scheduler.
    pod, cluster = situation.pod, situation.cluster
    node = situation.node or pod.spec.node_name
    # The kubelet starts a pod only when all its claims are bound.
    if not node or pod.status.phase not in ("", "Pending") or pod.metadata.deletion_timestamp is not None:
        return
    delayed = group_claims(cluster, pod_claims(cluster, pod)).delayed
    waiting = {claim.name: claim for claim in delayed if SELECTED_NODE not in claim.metadata.annotations}
    if not waiting:
        return
    classes = [storage_class_of(cluster, claim) for claim in waiting.values()]
    names, one = listed(list(waiting)), len(waiting) == 1
    claims = f"claim {names} waits for its first consumer" if one else f"claims {names} wait for their first consumer"
    row = cluster.nodes.row.get(node)
    labels = cluster.nodes.objects[row].metadata.labels if row is not None else {}
    hostname = labels.get(HOSTNAME, node)
    namespace = pod.namespace
    kind, _, workload = situation.workload
    whose = f"pod {pod.name}" if kind == "Pod" else f"the template of {kind} {workload}"
    yield Diagnosis(
        rule="claim-without-scheduler",
        cause=(
            f"{claims}, and spec.nodeName {node} bypasses the scheduler, which would choose the node for "
            f"{'its volume' if one else 'their volumes'}"
        ),
        evidence=tuple(
            f"class {claim_class(claim)} of claim {claim.name} waits for the first consumer (WaitForFirstConsumer)"
            for claim in waiting.values()
        ),
        advice=(
            Advice(
                summary=f"use nodeSelector {HOSTNAME}: {hostname} instead of nodeName in {whose}, and recreate the pod",
                risk=Risk.POD,
                untried="the node of a pod cannot be changed",
                command=f"# in {whose}: remove nodeName; nodeSelector: {{{HOSTNAME}: {hostname}}}",
            ),
            # It only helps if a provisioner reads the annotation.
            *(
                ()
                if any(each is None or is_static(each) for each in classes)
                else (
                    Advice(
                        summary=f"for once: do the scheduler's part, annotation {SELECTED_NODE}={node} on the claim",
                        risk=Risk.SHARED,
                        untried="the provisioner then creates the volume",
                        command=f"kubectl annotate pvc -n {namespace} {' '.join(waiting)} {SELECTED_NODE}={node}",
                    ),
                )
            ),
        ),
        checks=(f"kubectl describe pvc -n {namespace} {' '.join(waiting)}",),
    )
