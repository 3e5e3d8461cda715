"""Validation of the security contexts of pods and containers."""

from __future__ import annotations

import re
from typing import Any, Final

from kschedctl.objects import field_errors
from kschedctl.objects.field_errors import Typed
from kschedctl.objects.formats import id_problems
from kschedctl.objects.names import too_long
from kschedctl.objects.validation.context import Found, Tree, ValidationContext
from kschedctl.objects.validation.go_values import in_go
from kschedctl.objects.validation.values import invalid_findings, one_of, relative_path
from kschedctl.objects.validation.windows import windows_options

_PROFILES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_LONGEST_PROFILE: Final = 4095
_SEGMENT: Final = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL: Final = rf"({_SEGMENT}[\./])*{_SEGMENT}"
_MATCH_SYSCTL: Final = re.compile(_SYSCTL).fullmatch
_LONGEST_SYSCTL: Final = 253
_IPC: Final = frozenset(
    f"kernel.{name}"
    for name in ("sem", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "shm", "msgmax", "msgmnb", "msgmni", "msg")
)


def container_security(rules: Tree, path: str, context: ValidationContext) -> Found:
    """Yield the problems of the security context of a container."""
    yield from _ids(rules, path, ("runAsUser", "runAsGroup"))
    if "procMount" in rules:
        yield from one_of(rules["procMount"], ("Default", "Unmasked"), f"{path}.procMount")
        if context.host_users and rules["procMount"] == "Unmasked":
            problem = "`hostUsers` must be false to use `Unmasked`"
            yield field_errors.invalid(f"{path}.procMount", Typed(rules["procMount"]), problem)
    yield from _seccomp(rules.get("seccompProfile"), f"{path}.seccompProfile")
    if rules.get("allowPrivilegeEscalation") is False:
        shown = in_go("SecurityContext", rules)
        if rules.get("privileged"):
            problem = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            yield field_errors.invalid(path, shown, problem)
        for capability in rules.get("capabilities", {}).get("add", ()):
            if capability == "CAP_SYS_ADMIN":
                problem = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
                yield field_errors.invalid(path, shown, problem)
    yield from windows_options(rules.get("windowsOptions"), f"{path}.windowsOptions")
    yield from app_armor(rules.get("appArmorProfile"), f"{path}.appArmorProfile")


def pod_security(rules: Tree, spec: Tree, path: str, context: ValidationContext) -> Found:
    """Yield the problems of the security context of a pod."""
    yield from _ids(rules, path, ("fsGroup", "runAsUser", "runAsGroup"))
    for i, group in enumerate(rules.get("supplementalGroups", ())):
        yield from invalid_findings(id_problems(group), group, f"{path}.supplementalGroups[{i}]")
    if not context.rules.host_namespaces_are_of_spec:
        yield from shared_processes(spec, path)
    yield from _sysctls(rules.get("sysctls", ()), spec, f"{path}.sysctls")
    if "fsGroupChangePolicy" in rules:
        yield from one_of(rules["fsGroupChangePolicy"], ("Always", "OnRootMismatch"), f"{path}.fsGroupChangePolicy")
    yield from _seccomp(rules.get("seccompProfile"), f"{path}.seccompProfile")
    yield from windows_options(rules.get("windowsOptions"), f"{path}.windowsOptions")
    yield from app_armor(rules.get("appArmorProfile"), f"{path}.appArmorProfile")
    if "supplementalGroupsPolicy" in rules and context.on("SupplementalGroupsPolicy"):
        at = f"{path}.supplementalGroupsPolicy"
        yield from one_of(rules["supplementalGroupsPolicy"], ("Merge", "Strict"), at)
    if "seLinuxChangePolicy" in rules:
        known = ("MountOption", "Recursive") if context.on("SELinuxMount") else ("Recursive",)
        yield from one_of(rules["seLinuxChangePolicy"], known, f"{path}.seLinuxChangePolicy")


def shared_processes(spec: Tree, path: str) -> Found:
    """Yield the problem of a pod whose containers share their processes, and the processes of the node as well."""
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        problem = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield field_errors.invalid(f"{path}.shareProcessNamespace", True, problem)


def _ids(rules: Tree, path: str, names: tuple[str, ...]) -> Found:
    for name in names:
        if name in rules:
            yield from invalid_findings(id_problems(rules[name]), rules[name], f"{path}.{name}")


def _seccomp(profile: Tree | None, path: str) -> Found:
    if profile is None:
        return
    kind = profile.get("type", "")
    if not kind:
        yield field_errors.required(f"{path}.type", "type is required when seccompProfile is set")
    else:
        yield from one_of(kind, _PROFILES, f"{path}.type")
    at = f"{path}.localhostProfile"
    if kind == "Localhost":
        if "localhostProfile" not in profile:
            yield field_errors.required(at, "must be set when seccomp type is Localhost")
        else:
            yield from relative_path(profile["localhostProfile"], at)
    elif "localhostProfile" in profile:
        shown = in_go("SeccompProfile", profile)
        yield field_errors.invalid(at, shown, "can only be set when seccomp type is Localhost")


def app_armor(profile: Tree | None, path: str) -> Found:
    """Yield the problems of an AppArmor profile."""
    if profile is None:
        return
    kind, name = profile.get("type", ""), profile.get("localhostProfile")
    at = f"{path}.localhostProfile"
    if kind == "Localhost":
        if name is None:
            yield field_errors.required(at, "must be set when AppArmor type is Localhost")
            return
        if name.strip() != name:
            yield field_errors.invalid(at, name, "must not be padded with whitespace")
        elif not name:
            yield field_errors.required(at, "must be set when AppArmor type is Localhost")
        if too_long(name, _LONGEST_PROFILE):
            yield field_errors.too_long(at, _LONGEST_PROFILE)
    elif kind in _PROFILES:
        if name is not None:
            yield field_errors.invalid(at, Typed(name), "can only be set when AppArmor type is Localhost")
    elif not kind:
        yield field_errors.required(f"{path}.type", "type is required when appArmorProfile is set")
    else:
        yield field_errors.unsupported(f"{path}.type", kind, _PROFILES)


def _sysctls(sysctls: Any, spec: Tree, path: str) -> Found:
    names: set[str] = set()
    for i, sysctl in enumerate(sysctls):
        at, name = f"{path}[{i}].name", sysctl.get("name", "")
        if not name:
            yield field_errors.required(at)
        elif too_long(name, _LONGEST_SYSCTL) or not _MATCH_SYSCTL(name):
            problem = f"must have at most {_LONGEST_SYSCTL} characters and match regex ^{_SYSCTL}$"
            yield field_errors.invalid(at, name, problem)
        elif name in names:
            yield field_errors.duplicate(at, name)
        dotted = _dotted(name)
        if spec.get("hostNetwork") and dotted.startswith("net."):
            yield field_errors.invalid(at, name, "may not be specified when 'hostNetwork' is true")
        elif spec.get("hostIPC") and (dotted in _IPC or dotted.startswith("fs.mqueue.")):
            yield field_errors.invalid(at, name, "may not be specified when 'hostIPC' is true")
        names.add(name)


def _dotted(name: str) -> str:
    """Return a sysctl's name separated by dots; if a slash precedes any dot, slashes and dots are swapped."""
    first = next((char for char in name if char in "./"), "")
    swapped = name.translate(str.maketrans("./", "/.")) if first == "/" else name
    return swapped.partition("*")[0]
