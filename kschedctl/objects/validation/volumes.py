"""Validation of the volumes of pods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kschedctl.objects import field_errors
from kschedctl.objects.canonical_quantity import Amount
from kschedctl.objects.names import subdomain_problems
from kschedctl.objects.validation import volume_sources as sources
from kschedctl.objects.validation.claim import claim_template
from kschedctl.objects.validation.containers import PULL_POLICIES
from kschedctl.objects.validation.context import Found, Tree, ValidationContext
from kschedctl.objects.validation.files import config_map, downward_api, projected, secret
from kschedctl.objects.validation.values import given_label_name, invalid_findings, one_of, relative_path, require

_LONGEST_ISCSI: Final = 64
_TOO_LONG: Final = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is "
    "specified."
)
_FORM: Final = "must be valid format starting with iqn, eui, or naa"


def pod_volumes(volumes: Sequence[Tree], path: str, context: ValidationContext, good: dict[str, Tree]) -> Found:
    """Yield the problems of the volumes of a pod.

    Parameters
    ----------
    good : dict
        The output: valid volumes are added by name. Containers can use only these.
    """
    names: set[str] = set()
    pod = context.pod_name
    made = {f"{pod}-{volume.get('name', '')}" for volume in volumes if pod and "ephemeral" in volume}
    for i, volume in enumerate(volumes):
        at = f"{path}[{i}]"
        name = volume.get("name", "")
        found = [*_source(volume, at, context), *given_label_name(name, f"{at}.name")]
        if name in names:
            found.append(field_errors.duplicate(f"{at}.name", name))
        if not found:
            names.add(name)
            good[name] = volume
        yield from found
        claim = volume.get("persistentVolumeClaim", {}).get("claimName", "")
        if claim in made:
            problem = "must not reference a PVC that gets created for an ephemeral volume"
            yield field_errors.invalid(f"{at}.persistentVolumeClaim.claimName", claim, problem)


def _source(volume: Tree, path: str, context: ValidationContext) -> Found:
    if context.partial:
        if "persistentVolumeClaim" in volume:
            own = {"persistentVolumeClaim": _SOURCES["persistentVolumeClaim"]}
            yield from sources.one_source(volume, own, path, context)
        return
    if len(volume) == ("name" in volume):
        # A volume without a source is an emptyDir.
        return
    yield from sources.one_source(volume, _SOURCES, path, context)
    name = volume.get("name", "")
    portal = volume.get("iscsi", {})
    if "initiatorName" in portal and len(f"{name}:{portal.get('targetPortal', '')}".encode()) > _LONGEST_ISCSI:
        yield field_errors.invalid(f"{path}.name", name, _TOO_LONG)
    if "ephemeral" in volume and context.pod_name and name:
        claim = f"{context.pod_name}-{name}"
        for problem in subdomain_problems(claim):
            yield field_errors.invalid(f"{path}.name", name, f"PVC name {field_errors.go_quote(claim)}: {problem}")


def _empty_dir(source: Tree, path: str, context: ValidationContext) -> Found:
    if "sizeLimit" in source and Amount.parse(source["sizeLimit"]).nanos < 0:
        yield field_errors.forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _git_repo(source: Tree, path: str, context: ValidationContext) -> Found:
    yield from require(source.get("repository"), f"{path}.repository")
    yield from relative_path(source.get("directory", ""), f"{path}.directory")


def _iscsi(source: Tree, path: str, context: ValidationContext) -> Found:
    yield from require(source.get("targetPortal"), f"{path}.targetPortal")
    yield from sources.iscsi(source, path, form=_FORM)
    yield from sources.initiator(source, path, form=_FORM)


def _csi(source: Tree, path: str, context: ValidationContext) -> Found:
    yield from sources.driver_name(source.get("driver", ""), f"{path}.driver", context)
    if "nodePublishSecretRef" in source:
        name = source["nodePublishSecretRef"].get("name", "")
        if not name:
            yield field_errors.required(f"{path}.nodePublishSecretRef.name")
        else:
            yield from invalid_findings(subdomain_problems(name), name, f"{path}.name")


def _ephemeral(source: Tree, path: str, context: ValidationContext) -> Found:
    if "volumeClaimTemplate" not in source:
        yield field_errors.required(f"{path}.volumeClaimTemplate")
    else:
        yield from claim_template(source["volumeClaimTemplate"], f"{path}.volumeClaimTemplate", context)


def _image(source: Tree, path: str, context: ValidationContext) -> Found:
    if context.is_pod or context.rules.templates_need_image_reference:
        yield from require(source.get("reference"), f"{path}.reference")
    if source.get("pullPolicy"):
        yield from one_of(source["pullPolicy"], PULL_POLICIES, f"{path}.pullPolicy")


_SOURCES: Final = sources.table(
    {
        "emptyDir": _empty_dir,
        "hostPath": sources.host_path,
        "gitRepo": _git_repo,
        "gcePersistentDisk": sources.disk("pdName"),
        "awsElasticBlockStore": sources.disk("volumeID"),
        "secret": secret,
        "nfs": sources.nfs,
        "iscsi": _iscsi,
        "glusterfs": sources.needs("endpoints", "path"),
        "flocker": sources.flocker,
        "persistentVolumeClaim": sources.needs("claimName"),
        "rbd": sources.needs("monitors", "image"),
        "cinder": sources.cinder("name"),
        "cephfs": sources.needs("monitors"),
        "quobyte": sources.quobyte,
        "downwardAPI": downward_api,
        "fc": sources.fibre_channel,
        "flexVolume": sources.flex,
        "configMap": config_map,
        "azureFile": sources.needs("secretName", "shareName"),
        "vsphereVolume": sources.needs("volumePath"),
        "photonPersistentDisk": sources.needs("pdID"),
        "portworxVolume": sources.needs("volumeID"),
        "azureDisk": sources.azure_disk,
        "storageos": sources.storage_os("name"),
        "projected": projected,
        "scaleIO": sources.needs("gateway", "system", "volumeName"),
        "csi": _csi,
        "ephemeral": _ephemeral,
        "image": _image,
    },
    gcePersistentDisk=("persistentDisk", "gcePersistentDisk"),
    cephfs=("cephfs", "cephFS"),
    downwardAPI=("downwardAPI", "downwarAPI"),
)
