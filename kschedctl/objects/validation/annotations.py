"""Validation of pod annotations that have a meaning for an API server."""

from __future__ import annotations

import re
from typing import Final

from kschedctl.common.text.json_text import decoded_json
from kschedctl.objects import field_errors
from kschedctl.objects.schema.decode import decode_object
from kschedctl.objects.validation.context import Found, Tree, ValidationContext
from kschedctl.objects.validation.placement import tolerations
from kschedctl.objects.validation.values import relative_path
from kschedctl.objects.validation.windows import containers_in_visiting_order

MIRROR: Final = "kubernetes.io/config.mirror"
TOLERATIONS: Final = "scheduler.alpha.kubernetes.io/tolerations"
_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
SECCOMP_OF_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_OF_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_RUNTIME_DEFAULT: Final = "runtime/default"
_DOCKER_DEFAULT: Final = "docker/default"
_UNCONFINED: Final = "unconfined"
_LOCALHOST: Final = "localhost/"
_COST: Final = re.compile(r"-?[0-9]+", re.ASCII).fullmatch


def pod_annotations(own: dict[str, str], spec: Tree, path: str, context: ValidationContext) -> Found:
    """Yield the problems of the annotations of a pod or pod template."""
    if not own:
        return
    if MIRROR in own and not spec.get("nodeName"):
        problem = "must set spec.nodeName if mirror pod annotation is set"
        yield field_errors.invalid(f"{path}[{MIRROR}]", own[MIRROR], problem)
    if own.get(TOLERATIONS):
        yield from _tolerations(own[TOLERATIONS], path, context)
    cost = own.get(_DELETION_COST)
    if cost is not None and not _is_cost(cost):
        yield field_errors.invalid(f"{path}[{_DELETION_COST}]", cost, "must be a 32bit integer")
    if SECCOMP_OF_POD in own:
        yield from _seccomp(own[SECCOMP_OF_POD], f"{path}.{SECCOMP_OF_POD}")
    for key, profile in own.items():
        if key.startswith(SECCOMP_OF_CONTAINER):
            yield from _seccomp(profile, f"{path}.{key}")
    yield from _app_armor(own, spec, path)


def _app_armor(own: dict[str, str], spec: Tree, path: str) -> Found:
    names = {container.get("name", "") for _, container in containers_in_visiting_order(spec, path)}
    for key, profile in own.items():
        if not key.startswith(APP_ARMOR):
            continue
        name = key.removeprefix(APP_ARMOR)
        if name not in names:
            yield field_errors.invalid(f"{path}[{key}]", name, "container not found")
        if profile not in ("", _RUNTIME_DEFAULT, _UNCONFINED) and not profile.startswith(_LOCALHOST):
            problem = f"invalid AppArmor profile name: {field_errors.go_quote(profile)}"
            yield field_errors.invalid(f"{path}[{key}]", profile, problem)


def _is_cost(text: str) -> bool:
    if not _COST(text) or (text.startswith("0") and text != "0"):
        return False
    return -(2**31) <= int(text) < 2**31 if len(text) < 20 else False


def _tolerations(text: str, path: str, context: ValidationContext) -> Found:
    try:
        given = decoded_json(text)
    except ValueError:
        return
    tree, wrong = decode_object({"spec": {"tolerations": given}}, "v1", "Pod")
    if wrong is None:
        yield from tolerations(tree["spec"].get("tolerations", ()), f"{path}.{TOLERATIONS}", context)


def _seccomp(profile: str, path: str) -> Found:
    if profile in (_RUNTIME_DEFAULT, _DOCKER_DEFAULT, _UNCONFINED):
        return
    if profile.startswith(_LOCALHOST):
        yield from relative_path(profile.removeprefix(_LOCALHOST), path)
    else:
        yield field_errors.invalid(path, profile, "must be a valid seccomp profile")


def seccomp_agrees(own: dict[str, str], spec: Tree, path: str) -> Found:
    """Yield the problems of seccomp profiles that differ between annotation and field."""
    if not own:
        return
    holders = [(SECCOMP_OF_POD, path, spec)]
    for at, container in containers_in_visiting_order(spec, path):
        holders.append((f"{SECCOMP_OF_CONTAINER}{container.get('name', '')}", at, container))
    for key, at, holder in holders:
        profile = holder.get("securityContext", {}).get("seccompProfile")
        if profile is not None and key in own:
            at = f"{at}.securityContext.seccompProfile"
            yield from _agrees(own[key], profile, (_RUNTIME_DEFAULT, _DOCKER_DEFAULT), "seccomp", at)


def app_armor_agrees(own: dict[str, str], spec: Tree, path: str) -> Found:
    """Yield the problems of AppArmor profiles that differ between annotation and field."""
    if not own or spec.get("os", {}).get("name") == "windows":
        return
    of_pod = spec.get("securityContext", {}).get("appArmorProfile")
    for at, container in containers_in_visiting_order(spec, path):
        profile = container.get("securityContext", {}).get("appArmorProfile", of_pod)
        key = f"{APP_ARMOR}{container.get('name', '')}"
        if profile is not None and key in own:
            at = f"{at}.securityContext.appArmorProfile"
            yield from _agrees(own[key], profile, (_RUNTIME_DEFAULT,), "apparmor", at)


def _agrees(value: str, profile: Tree, defaults: tuple[str, ...], what: str, path: str) -> Found:
    kind = profile.get("type")
    wrong_type = (
        (kind == "Unconfined" and value != _UNCONFINED)
        or (kind == "RuntimeDefault" and value not in defaults)
        or (kind == "Localhost" and not value.startswith(_LOCALHOST))
    )
    if wrong_type:
        yield field_errors.forbidden(f"{path}.type", f"{what} type in annotation and field must match")
    elif kind == "Localhost" and value.removeprefix(_LOCALHOST) != profile.get("localhostProfile"):
        problem = f"{what} profile in annotation and field must match"
        yield field_errors.forbidden(f"{path}.localhostProfile", problem)


def app_armor_profile(annotation: str) -> Tree | None:
    """Return the profile of an AppArmor annotation in the form of the field; ``None`` if it is invalid."""
    match annotation:
        case "unconfined":
            return {"type": "Unconfined"}
        case "runtime/default":
            return {"type": "RuntimeDefault"}
        case _ if annotation.startswith(_LOCALHOST) and annotation != _LOCALHOST:
            return {"type": "Localhost", "localhostProfile": annotation.removeprefix(_LOCALHOST)}
        case _:
            return None
