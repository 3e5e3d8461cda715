"""Validation of security contexts, of Windows pods, and of fields that only one operating system supports."""

import re
from collections.abc import Iterator
from typing import Final

from kschedctl.objects.names import id_problems, subdomain_problems, too_long
from kschedctl.objects.validation.image_reference import pinned_reference_problems
from kschedctl.objects.validation.part import Part
from kschedctl.objects.validation.values import ValidationContext, in_go, relative_path

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


def containers_in_visiting_order(spec: Part) -> Iterator[Part]:
    """Yield all containers in the order in which API servers visit them."""
    for name in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec[name]


def windows_options(options: Part) -> None:
    """Check the Windows options of a security context."""
    options["gmsaCredentialSpecName"].typed.check(subdomain_problems)
    text = options["gmsaCredentialSpec"].typed
    if text.given and not text:
        text.invalid("gmsaCredentialSpec cannot be an empty string")
    elif text and too_long(text.value, _KIB * 1024):
        text.invalid(f"gmsaCredentialSpec size must be under {_KIB} KiB")
    options["runAsUserName"].typed.check(_user_name_problems)


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


def host_process(spec: Part) -> None:
    """Check the containers that run as processes of a Windows host."""
    of_pod = spec["securityContext"]["windowsOptions"]["hostProcess"].value
    are_host = []
    for container in containers_in_visiting_order(spec):
        own = container["securityContext"]["windowsOptions"]["hostProcess"]
        if of_pod is not None and own.given and of_pod != own.value:
            own.invalid(f"pod hostProcess value must be identical if both are specified, was {str(of_pod).lower()}")
        are_host.append(bool(own.value if own.given else of_pod))
    if not any(are_host):
        return
    if not all(are_host):
        problem = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        spec.invalid(problem, "")
    if not spec["hostNetwork"]:
        spec["hostNetwork"].invalid("hostNetwork must be true if pod contains any hostProcess containers", False)


def operating_system(spec: Part, context: ValidationContext) -> None:
    """Check a pod's operating system, and the fields that it does not support."""
    name = spec["os"].at("name", "")
    if name.value == "linux":
        for holder in (spec, *containers_in_visiting_order(spec)):
            if "windowsOptions" in holder["securityContext"]:
                holder["securityContext"]["windowsOptions"].forbidden("windows options cannot be set for a linux pod")
    elif name.value == "windows":
        in_spec_last = context.rules.host_namespaces_are_of_spec
        for path in sorted(_OF_POD, key=lambda path: "." not in path) if in_spec_last else _OF_POD:
            outer, _, inner = path.partition(".")
            field = spec[outer][inner] if inner else spec[outer]
            if field.given and (field or path not in _IF_ANY):
                field.forbidden(_NOT_FOR_WINDOWS)
        for container in containers_in_visiting_order(spec):
            for path in _OF_CONTAINER:
                if path in container["securityContext"]:
                    container["securityContext"][path].forbidden(_NOT_FOR_WINDOWS)
    elif name:
        spec["os"].unsupported(("linux", "windows"), name.value)
    else:
        name.required()


_PROFILES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
#: The type of seccomp profiles that are stored in a registry, and the feature gate without which it is unknown.
OCI: Final = "OCI"
_OCI_GATE: Final = "SecurityProfileOCI"
_LOCALHOST: Final = "Localhost"
_LONGEST_PROFILE: Final = 4095
_LONGEST_REFERENCE: Final = 1024
_LONGEST_BASE: Final = 4096
_CHARACTERS: Final = "characters"
_SEGMENT: Final = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL: Final = rf"({_SEGMENT}[\./])*{_SEGMENT}"
_MATCH_SYSCTL: Final = re.compile(_SYSCTL).fullmatch
_LONGEST_SYSCTL: Final = 253
_IPC: Final = frozenset(
    f"kernel.{name}"
    for name in ("sem", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "shm", "msgmax", "msgmnb", "msgmni", "msg")
)


def container_security(rules: Part, context: ValidationContext) -> None:
    """Check the security context of a container."""
    for name in ("runAsUser", "runAsGroup"):
        rules[name].check(id_problems)
    mount = rules["procMount"]
    mount.one_of("Default", "Unmasked")
    if context.host_users and mount.value == "Unmasked":
        mount.typed.invalid("`hostUsers` must be false to use `Unmasked`")
    _seccomp(rules["seccompProfile"], context)
    if rules["allowPrivilegeEscalation"].value is False:
        added = ["`capabilities.Add` CAP_SYS_ADMIN"] * rules["capabilities"].get("add", []).count("CAP_SYS_ADMIN")
        for more in (*(["`privileged` to true"] if rules["privileged"] else []), *added):
            problem = f"cannot set `allowPrivilegeEscalation` to false and {more}"
            with_oci = context.rules.seccomp_profiles_of_registries
            rules.invalid(problem, in_go("SecurityContext", rules.value, with_oci=with_oci))
    windows_options(rules["windowsOptions"])
    app_armor(rules["appArmorProfile"])


def pod_security(rules: Part, spec: Part, context: ValidationContext) -> None:
    """Check the security context of a pod."""
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        rules[name].check(id_problems)
    for group in rules["supplementalGroups"]:
        group.check(id_problems)
    if not context.rules.host_namespaces_are_of_spec:
        shared_processes(spec, rules)
    names: set[str] = set()
    for sysctl in rules["sysctls"]:
        field = sysctl.at("name", "")
        name = field.value
        if not name:
            field.required()
        elif too_long(name, _LONGEST_SYSCTL) or not _MATCH_SYSCTL(name):
            field.invalid(f"must have at most {_LONGEST_SYSCTL} characters and match regex ^{_SYSCTL}$")
        elif name in names:
            field.duplicate()
        # If a slash precedes any dot, slashes and dots are swapped.
        first = next((char for char in name if char in "./"), "")
        swapped = name.translate(str.maketrans("./", "/.")) if first == "/" else name
        dotted = swapped.partition("*")[0]
        if spec["hostNetwork"] and dotted.startswith("net."):
            field.invalid("may not be specified when 'hostNetwork' is true")
        elif spec["hostIPC"] and (dotted in _IPC or dotted.startswith("fs.mqueue.")):
            field.invalid("may not be specified when 'hostIPC' is true")
        names.add(name)
    rules["fsGroupChangePolicy"].one_of("Always", "OnRootMismatch")
    _seccomp(rules["seccompProfile"], context)
    windows_options(rules["windowsOptions"])
    app_armor(rules["appArmorProfile"])
    if context.on("SupplementalGroupsPolicy"):
        rules["supplementalGroupsPolicy"].one_of("Merge", "Strict")
    rules["seLinuxChangePolicy"].one_of(*(["MountOption"] if context.on("SELinuxMount") else []), "Recursive")


def shared_processes(spec: Part, holder: Part) -> None:
    """Check that a pod's containers do not share both their own processes and those of the node."""
    if spec["shareProcessNamespace"] and spec["hostPID"]:
        problem = "ShareProcessNamespace and HostPID cannot both be enabled"
        holder.child("shareProcessNamespace", True).invalid(problem)


def _seccomp(profile: Part, context: ValidationContext) -> None:
    if not profile.given:
        return
    kind, name = profile["type"], profile["localhostProfile"]
    kind.require("type is required when seccompProfile is set")
    kind.nonempty.one_of(*_PROFILES, *([OCI] if context.on(_OCI_GATE) else []))
    if kind.value == "Localhost":
        if not name.given:
            name.required("must be set when seccomp type is Localhost")
        relative_path(name)
    elif name.given:
        type_ = "SeccompProfileWithOCI" if context.rules.seccomp_profiles_of_registries else "SeccompProfile"
        name.invalid("can only be set when seccomp type is Localhost", in_go(type_, profile.value))


def seccomp_of_registry(profile: Part) -> None:
    """Check the part of a seccomp profile that is for profiles in a registry."""
    oci, is_oci = profile["oci"], profile.get("type") == OCI
    if oci.given and not is_oci:
        oci.invalid(f'may only be specified when `type` is "{OCI}"', "")
    elif is_oci and not oci.given:
        oci.invalid(f'must be specified when `type` is "{OCI}"', "")
    if not oci.given:
        return
    reference = oci.at("ref", "")
    if len(reference.value) > _LONGEST_REFERENCE:
        reference.too_long(_LONGEST_REFERENCE, _CHARACTERS)
    else:
        reference.require(rule=pinned_reference_problems)
    base = oci["baseProfile"]
    if not base.given:
        return
    kind, name = base.at("type", ""), base["localhostProfile"]
    if name.given and kind.value != _LOCALHOST:
        name.invalid(f'may only be specified when `type` is "{_LOCALHOST}"', "")
    elif not name.given and kind.value == _LOCALHOST:
        name.invalid(f'must be specified when `type` is "{_LOCALHOST}"', "")
    kind.require_one_of(_LOCALHOST, "RuntimeDefault")
    if name.given and len(name.value) > _LONGEST_BASE:
        name.too_long(_LONGEST_BASE, _CHARACTERS)
    elif name.given and not name:
        name.required("must not be empty")
    else:
        relative_path(name)


def privileged_with_registry_profile(spec: Part, context: ValidationContext) -> None:
    """Check that no privileged container has a seccomp profile of a registry, which would have no effect."""
    if not context.on(_OCI_GATE):
        return
    of_pod = spec["securityContext"]["seccompProfile"]
    for container in containers_in_visiting_order(spec):
        rules = container["securityContext"]
        own = rules["seccompProfile"]
        profile = own if own.given else of_pod
        if rules["privileged"] and profile.get("type") == OCI:
            rules["privileged"].forbidden(
                "privileged containers cannot use a seccomp profile of type OCI; "
                "set a seccompProfile of another type on the container"
            )


def app_armor(profile: Part) -> None:
    """Check an AppArmor profile."""
    if not profile.given:
        return
    kind, name = profile["type"], profile["localhostProfile"]
    if kind.value != "Localhost":
        kind.require("type is required when appArmorProfile is set")
        kind.nonempty.one_of(*_PROFILES)
        if name.given and kind.value in _PROFILES:
            name.typed.invalid("can only be set when AppArmor type is Localhost")
    elif name and name.value.strip() != name.value:
        name.invalid("must not be padded with whitespace")
    else:
        name.require("must be set when AppArmor type is Localhost")
    if kind.value == "Localhost" and name and too_long(name.value, _LONGEST_PROFILE):
        name.too_long(_LONGEST_PROFILE)
