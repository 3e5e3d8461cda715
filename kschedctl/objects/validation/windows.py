"""Validation of Windows pods, and of fields that only one operating system supports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kschedctl.objects import field_errors
from kschedctl.objects.field_errors import Typed
from kschedctl.objects.names import subdomain_problems, too_long
from kschedctl.objects.validation.context import Found, Tree, ValidationContext
from kschedctl.objects.validation.values import invalid_findings

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
        yield from _of_linux(spec, path)
    elif name == "windows":
        yield from _of_windows(spec, path, context)
    else:
        yield field_errors.unsupported(f"{path}.os", name, ("linux", "windows"))


def _of_linux(spec: Tree, path: str) -> Found:
    holders = [(path, spec), *containers_in_visiting_order(spec, path)]
    for at, holder in holders:
        if "windowsOptions" in holder.get("securityContext", {}):
            problem = "windows options cannot be set for a linux pod"
            yield field_errors.forbidden(f"{at}.securityContext.windowsOptions", problem)


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
