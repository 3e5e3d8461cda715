"""Validation of security contexts, of Windows pods, and of fields that only one operating system supports."""

import re
from collections.abc import Iterator
from typing import Final

from kschedctl.objects import field_errors
from kschedctl.objects.field_errors import Typed
from kschedctl.objects.names import id_problems, subdomain_problems, too_long
from kschedctl.objects.validation.values import (
    Found,
    Tree,
    ValidationContext,
    in_go,
    invalid_findings,
    one_of,
    relative_path,
)

# Validation of Windows pods, and of fields that only one operating system supports.

_KIB: Final = 64
_LONGEST_DOMAIN: Final = 256
_LONGEST_USER: Final = 104
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]").search
_NETBIOS: Final = re.compile(r"""[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}""").fullmatch
_DNS_LABEL: Final = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS: Final = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*").fullmatch
_WRONG_CHARS: Final = re.compile(r"""["/\\:;|=,+*?<>@\[\]]""").search
_DOTS_AND_SPACES: Final = re.compile(r"[. ]+").fullmatch
_NOT_FOR_WINDOWS: Final = "cannot be set for a windows pod"
_OF_POD: Final = (
    "securityContext.appArmorProfile",
    "securityContext.seLinuxOptions",
    "hostUsers",
    "hostPID",
    "hostIPC",
    "securityContext.seccompProfile",
    "securityContext.fsGroup",
    "securityContext.fsGroupChangePolicy",
    "securityContext.sysctls",
    "shareProcessNamespace",
    "securityContext.runAsUser",
    "securityContext.runAsGroup",
    "securityContext.supplementalGroups",
    "securityContext.supplementalGroupsPolicy",
    "securityContext.seLinuxChangePolicy",
)
#: The fields that are rejected only if they are true or not empty.
_IF_ANY: Final = frozenset({"hostPID", "hostIPC", "securityContext.sysctls"})
_OF_CONTAINER: Final = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def containers_in_visiting_order(spec: Tree, path: str) -> Iterator[tuple[str, Tree]]:
    """Yield all containers with their field paths, in the order in which API servers visit them."""
    for name in ("initContainers", "containers", "ephemeralContainers"):
        for i, container in enumerate(spec.get(name, ())):
            yield f"{path}.{name}[{i}]", container


def windows_options(options: Tree | None, path: str) -> Found:
    """Yield the problems of the Windows options of a security context."""
    if options is None:
        return
    if "gmsaCredentialSpecName" in options:
        name = options["gmsaCredentialSpecName"]
        yield from invalid_findings(subdomain_problems(name), Typed(name), f"{path}.gmsaCredentialSpecName")
    if "gmsaCredentialSpec" in options:
        text = options["gmsaCredentialSpec"]
        if not text:
            problem = "gmsaCredentialSpec cannot be an empty string"
            yield field_errors.invalid(f"{path}.gmsaCredentialSpec", Typed(text), problem)
        elif too_long(text, _KIB * 1024):
            problem = f"gmsaCredentialSpec size must be under {_KIB} KiB"
            yield field_errors.invalid(f"{path}.gmsaCredentialSpec", Typed(text), problem)
    if "runAsUserName" in options:
        name = options["runAsUserName"]
        yield from invalid_findings(_user_name_problems(name), Typed(name), f"{path}.runAsUserName")


def _user_name_problems(name: str) -> Iterator[str]:
    if not name:
        yield "runAsUserName cannot be an empty string"
        return
    if _CONTROL(name):
        yield "runAsUserName cannot contain control characters"
        return
    if name.count("\\") > 1:
        yield "runAsUserName cannot contain more than one backslash"
        return
    domain, backslash, user = name.rpartition("\\")
    if len(domain) >= _LONGEST_DOMAIN:
        yield f"runAsUserName's Domain length must be under {_LONGEST_DOMAIN} characters"
    if backslash and not (_NETBIOS(domain) or _DNS(domain)):
        yield "runAsUserName's Domain doesn't match the NetBios nor the DNS format"
    if not user:
        yield "runAsUserName's User cannot be empty"
    elif too_long(user, _LONGEST_USER):
        yield f"runAsUserName's User length must not be longer than {_LONGEST_USER} characters"
    if _DOTS_AND_SPACES(user):
        yield "runAsUserName's User cannot contain only periods or spaces"
    if _WRONG_CHARS(user):
        yield "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"


def host_process(spec: Tree, path: str) -> Found:
    """Yield the problems of containers that run as processes of a Windows host."""
    of_pod = spec.get("securityContext", {}).get("windowsOptions", {}).get("hostProcess")
    every = host = 0
    for at, container in containers_in_visiting_order(spec, path):
        every += 1
        own = container.get("securityContext", {}).get("windowsOptions", {}).get("hostProcess")
        if of_pod is not None and own is not None and of_pod != own:
            problem = f"pod hostProcess value must be identical if both are specified, was {str(of_pod).lower()}"
            yield field_errors.invalid(f"{at}.securityContext.windowsOptions.hostProcess", own, problem)
        host += bool(of_pod if own is None else own)
    if not host:
        return
    if host != every:
        problem = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        yield field_errors.invalid(path, "", problem)
    if not spec.get("hostNetwork", False):
        problem = "hostNetwork must be true if pod contains any hostProcess containers"
        yield field_errors.invalid(f"{path}.hostNetwork", False, problem)


def operating_system(spec: Tree, path: str, context: ValidationContext) -> Found:
    """Yield the problems of a pod's operating system, and of fields that it does not support."""
    name = spec["os"].get("name", "")
    if not name:
        yield field_errors.required(f"{path}.os.name")
    elif name == "linux":
        holders = [(path, spec), *containers_in_visiting_order(spec, path)]
        for at, holder in holders:
            if "windowsOptions" in holder.get("securityContext", {}):
                problem = "windows options cannot be set for a linux pod"
                yield field_errors.forbidden(f"{at}.securityContext.windowsOptions", problem)
    elif name == "windows":
        yield from _of_windows(spec, path, context)
    else:
        yield field_errors.unsupported(f"{path}.os", name, ("linux", "windows"))


def _of_windows(spec: Tree, path: str, context: ValidationContext) -> Found:
    in_spec_last = context.rules.host_namespaces_are_of_spec
    for name in sorted(_OF_POD, key=lambda name: "." not in name) if in_spec_last else _OF_POD:
        outer, dot, inner = name.partition(".")
        value = spec.get(outer, {}).get(inner) if dot else spec.get(outer)
        if value is not None and (value or name not in _IF_ANY):
            yield field_errors.forbidden(f"{path}.{name}", _NOT_FOR_WINDOWS)
    for at, container in containers_in_visiting_order(spec, path):
        for name in _OF_CONTAINER:
            if name in container.get("securityContext", {}):
                yield field_errors.forbidden(f"{at}.securityContext.{name}", _NOT_FOR_WINDOWS)


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
    place = f"{path}.sysctls"
    names: set[str] = set()
    for i, sysctl in enumerate(rules.get("sysctls", ())):
        at, name = f"{place}[{i}].name", sysctl.get("name", "")
        if not name:
            yield field_errors.required(at)
        elif too_long(name, _LONGEST_SYSCTL) or not _MATCH_SYSCTL(name):
            problem = f"must have at most {_LONGEST_SYSCTL} characters and match regex ^{_SYSCTL}$"
            yield field_errors.invalid(at, name, problem)
        elif name in names:
            yield field_errors.duplicate(at, name)
        # If a slash precedes any dot, slashes and dots are swapped.
        first = next((char for char in name if char in "./"), "")
        swapped = name.translate(str.maketrans("./", "/.")) if first == "/" else name
        dotted = swapped.partition("*")[0]
        if spec.get("hostNetwork") and dotted.startswith("net."):
            yield field_errors.invalid(at, name, "may not be specified when 'hostNetwork' is true")
        elif spec.get("hostIPC") and (dotted in _IPC or dotted.startswith("fs.mqueue.")):
            yield field_errors.invalid(at, name, "may not be specified when 'hostIPC' is true")
        names.add(name)
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
