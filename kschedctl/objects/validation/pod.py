"""Validation of pods, and of pod specs in pods and pod templates."""

import re
from typing import Final

import msgspec

from kschedctl.common.text.json_text import decoded_json
from kschedctl.objects import field_errors
from kschedctl.objects.defaults import default_pod_spec
from kschedctl.objects.names import (
    ip_problems,
    range_problems,
    subdomain_problems,
    too_long,
    underscored_subdomain_problems,
)
from kschedctl.objects.pod import PodSpec
from kschedctl.objects.quantity import QuantityError
from kschedctl.objects.schema.schema import decode_object
from kschedctl.objects.validation.containers import (
    ContainerValidation,
    containers,
    ephemeral_containers,
    image_alone,
    init_containers,
)
from kschedctl.objects.validation.metadata import object_metadata
from kschedctl.objects.validation.placement import affinity, scheduling_gates, tolerations, topology_spread
from kschedctl.objects.validation.pod_group import scheduling_group
from kschedctl.objects.validation.resources import overhead, pod_resources
from kschedctl.objects.validation.security import (
    containers_in_visiting_order,
    host_process,
    operating_system,
    pod_security,
    shared_processes,
)
from kschedctl.objects.validation.values import (
    Found,
    Tree,
    ValidationContext,
    given_one_of,
    in_go,
    invalid_findings,
    label_name,
    labels,
    not_negative,
    one_of,
    qualified_name,
    relative_path,
)
from kschedctl.objects.validation.volumes import pod_volumes

# Defaults that API servers set on Pods, but not on pod templates, before validation.
#
# Other defaults are applied where a field is validated: an absent field counts as its default.


def default_pod(spec: Tree, context: ValidationContext) -> None:
    """Fill in requests from limits, host ports on the host network, and pod-level requests and limits.

    Args:
        spec: The spec of a Pod, which is modified. A pod that was admitted already has its defaults.
    """
    if context.partial:
        return
    on_host = spec.get("hostNetwork", False)
    for name in ("containers", "initContainers"):
        for container in spec.get(name, ()):
            resources = container.get("resources", {})
            if resources.get("limits"):
                requests = resources.get("requests", {})
                missing = {key: text for key, text in resources["limits"].items() if key not in requests}
                container["resources"] = {**resources, "requests": {**requests, **missing}}
            for port in container.get("ports", ()) if on_host else ():
                port["hostPort"] = port.get("hostPort") or port.get("containerPort", 0)
    if "resources" in spec and context.on("PodLevelResources"):
        _default_pod_level(spec)


def _default_pod_level(spec: Tree) -> None:
    known = {key: spec[key] for key in ("containers", "initContainers", "resources") if key in spec}
    try:
        whole = default_pod_spec(msgspec.convert(known, PodSpec)).resources
    except QuantityError:
        return
    for name, amounts in (("requests", whole.requests), ("limits", whole.limits)):
        if amounts:
            spec["resources"] = {**spec["resources"], name: dict(amounts)}


# Validation of pod annotations that have a meaning for an API server.

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


_RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
PREEMPTION_POLICIES: Final = ("PreemptLowerPriority", "Never")
_MAX_INT32: Final = 2**31 - 1
_MOST_NAMESERVERS: Final = 3
_MOST_SEARCHES: Final = 32
_LONGEST_SEARCHES: Final = 2048
_LONGEST_HOSTNAME: Final = 64


def pod(tree: Tree, context: ValidationContext) -> Found:
    """Yield the problems of a new Pod."""
    metadata, spec = tree.get("metadata", {}), tree.get("spec", {})
    own = metadata.get("annotations", {})
    context = context.of_pod(metadata)
    default_pod(spec, context)
    if context.partial:
        metadata = {key: metadata[key] for key in ("name", "generateName", "labels") if key in metadata}
    yield from object_metadata(metadata, subdomain_problems, namespaced=True)
    yield from pod_annotations(own, spec, "metadata.annotations", context)
    yield from pod_spec(spec, "spec", context, annotations=own)
    if not (spec.get("serviceAccountName") or spec.get("serviceAccount")):
        for i, volume in enumerate(spec.get("volumes", ())):
            for n, source in enumerate(volume.get("projected", {}).get("sources", ())):
                if "serviceAccountToken" in source:
                    at = f"spec.volumes[{i}].projected.sources[{n}].serviceAccountToken"
                    yield field_errors.forbidden(at, "must not be specified when serviceAccountName is not set")
    if context.rules.grace_period_not_negative:
        yield from not_negative(spec.get("terminationGracePeriodSeconds"), "spec.terminationGracePeriodSeconds")
    for name in ("containers", "initContainers"):
        for i, container in enumerate(spec.get(name, ())):
            yield from image_alone(container, f"spec.{name}[{i}]")
    if spec.get("ephemeralContainers"):
        yield field_errors.forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        yield field_errors.forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")
    yield from seccomp_agrees(own, spec, "spec")
    yield from app_armor_agrees(own, spec, "spec")


def pod_spec(spec: Tree, path: str, context: ValidationContext, *, annotations: Tree | None = None) -> Found:
    """Yield the problems of the spec of a pod or pod template."""
    context = context.of_users(spec.get("hostUsers", True))
    volumes: dict[str, Tree] = {}
    if "volumes" in spec:
        yield from pod_volumes(spec["volumes"], f"{path}.volumes", context, volumes)
    claims = {name for claim in spec.get("resourceClaims", ()) if (name := claim.get("name"))}
    if "resourceClaims" in spec:
        yield from _resource_claims(spec["resourceClaims"], annotations or {}, f"{path}.resourceClaims")
    yield from _containers(ContainerValidation(spec, volumes, claims, context), path)
    if "resources" in spec and context.on("PodLevelResources"):
        yield from pod_resources(spec, claims, f"{path}.resources")
    if spec.get("hostNetwork"):
        yield from _host_network_ports(spec, path, context)
    yield from one_of(spec.get("restartPolicy") or "Always", _RESTART_POLICIES, f"{path}.restartPolicy")
    yield from one_of(spec.get("dnsPolicy") or "ClusterFirst", _DNS_POLICIES, f"{path}.dnsPolicy")
    yield from _placement(spec, path, context)
    yield from host_process(spec, path)
    if not context.host_users:
        yield from _users_of_their_own(spec, path, context)
    if "hostnameOverride" in spec and context.on("HostnameOverride"):
        name, at = spec["hostnameOverride"], f"{path}.hostnameOverride"
        for field in ("setHostnameAsFQDN", "hostNetwork"):
            if spec.get(field):
                yield field_errors.forbidden(at, f"may not be specified when {field} is true")
        if too_long(name, _LONGEST_HOSTNAME):
            yield field_errors.too_long(at, _LONGEST_HOSTNAME)
        yield from invalid_findings(subdomain_problems(name), name, at)
    yield from _check_names(spec, path)
    yield from _classes(spec, path, context)
    if "schedulingGroup" in spec and context.on("GenericWorkload"):
        yield from scheduling_group(spec["schedulingGroup"], f"{path}.schedulingGroup")
    if context.on("EnvFiles"):
        yield from _files_of_environment(spec, path)


def _containers(checked: ContainerValidation, path: str) -> Found:
    yield from containers(checked, f"{path}.containers")
    if "initContainers" in checked.spec:
        yield from init_containers(checked, f"{path}.initContainers")
    if "ephemeralContainers" in checked.spec:
        yield from ephemeral_containers(checked, f"{path}.ephemeralContainers")


def _placement(spec: Tree, path: str, context: ValidationContext) -> Found:
    """Yield the problems of node selector, affinity, gates, topology spread, and the fields validated between them."""
    if "nodeSelector" in spec:
        yield from labels(spec["nodeSelector"], f"{path}.nodeSelector")
    if "securityContext" in spec or spec.get("shareProcessNamespace"):
        yield from pod_security(spec.get("securityContext", {}), spec, f"{path}.securityContext", context)
    if context.rules.host_namespaces_are_of_spec:
        yield from shared_processes(spec, path)
    if "affinity" in spec:
        yield from affinity(spec["affinity"], f"{path}.affinity", context)
    yield from _dns(spec, f"{path}.dnsConfig", context)
    for i, gate in enumerate(spec.get("readinessGates", ())):
        yield from qualified_name(gate.get("conditionType", ""), f"{path}.readinessGates[{i}].conditionType")
    if "schedulingGates" in spec:
        yield from scheduling_gates(spec["schedulingGates"], f"{path}.schedulingGates")
    if "topologySpreadConstraints" in spec:
        at = f"{path}.topologySpreadConstraints"
        yield from topology_spread(spec["topologySpreadConstraints"], at, context)


def _check_names(spec: Tree, path: str) -> Found:
    # The field's old name, serviceAccount, counts if the new one is absent.
    account = spec.get("serviceAccountName") or spec.get("serviceAccount", "")
    node = spec.get("nodeName", "")
    for name, value in (("serviceAccountName", account), ("nodeName", node)):
        if value:
            yield from invalid_findings(subdomain_problems(value), value, f"{path}.{name}")
    seconds = spec.get("activeDeadlineSeconds")
    if seconds is not None:
        yield from invalid_findings(range_problems(seconds, 1, _MAX_INT32), seconds, f"{path}.activeDeadlineSeconds")
    for name in ("hostname", "subdomain"):
        if spec.get(name):
            yield from label_name(spec[name], f"{path}.{name}")


def _classes(spec: Tree, path: str, context: ValidationContext) -> Found:
    """Yield the problems of the fields from tolerations on: host aliases, classes, overhead, operating system."""
    if "tolerations" in spec:
        yield from tolerations(spec["tolerations"], f"{path}.tolerations", context)
    strict = context.on("StrictIPCIDRValidation")
    for i, alias in enumerate(spec.get("hostAliases", ())):
        at, ip = f"{path}.hostAliases[{i}]", alias.get("ip", "")
        yield from invalid_findings(ip_problems(ip, strict=strict), ip, f"{at}.ip")
        for n, name in enumerate(alias.get("hostnames", ())):
            yield from invalid_findings(subdomain_problems(name), name, f"{at}.hostnames[{n}]")
    if name := spec.get("priorityClassName"):
        yield from invalid_findings(subdomain_problems(name), name, f"{path}.priorityClassName")
    if "runtimeClassName" in spec:
        name = spec["runtimeClassName"]
        yield from invalid_findings(subdomain_problems(name), name, f"{path}.runtimeClassName")
    if "preemptionPolicy" in spec:
        yield from given_one_of(spec["preemptionPolicy"], PREEMPTION_POLICIES, f"{path}.preemptionPolicy")
    if "overhead" in spec:
        yield from overhead(spec["overhead"], f"{path}.overhead")
    if "os" in spec:
        yield from operating_system(spec, path, context)


def _resource_claims(claims: list[Tree], own: Tree, path: str) -> Found:
    names: set[str] = set()
    for i, claim in enumerate(claims):
        at, name = f"{path}[{i}]", claim.get("name", "")
        if MIRROR in own:
            yield field_errors.forbidden("", "static pods do not support resource claims")
            continue
        if not name:
            yield field_errors.required(f"{at}.name")
        elif name in names:
            yield field_errors.duplicate(f"{at}.name", name)
        else:
            yield from label_name(name, f"{at}.name")
            names.add(name)
        sources = [field for field in ("resourceClaimName", "resourceClaimTemplateName") if field in claim]
        shown = in_go("PodResourceClaim", claim)
        if len(sources) == 2:
            problem = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            yield field_errors.invalid(at, shown, problem)
        elif not sources:
            problem = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            yield field_errors.invalid(at, shown, problem)
        for field in sources:
            yield from invalid_findings(subdomain_problems(claim[field]), claim[field], f"{at}.{field}")


def _host_network_ports(spec: Tree, path: str, context: ValidationContext) -> Found:
    for i, container in enumerate(spec.get("containers", ())):
        for n, port in enumerate(container.get("ports", ())):
            host, own = port.get("hostPort", 0), port.get("containerPort", 0)
            # On the host network, every container port is a host port by default.
            if host and host != own:
                problem = "must match `containerPort` when `hostNetwork` is true"
                yield field_errors.invalid(f"{path}.containers[{i}].ports[{n}].hostPort", host, problem)


def _dns(spec: Tree, path: str, context: ValidationContext) -> Found:
    config = spec.get("dnsConfig")
    servers = config.get("nameservers", ()) if config is not None else ()
    if spec.get("dnsPolicy") == "None" and not context.partial:
        if config is None:
            yield field_errors.required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not servers:
            problem = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield field_errors.required(f"{path}.nameservers", problem)
            return
    if config is not None:
        yield from _dns_config(config, path, context)


def _dns_config(config: Tree, path: str, context: ValidationContext) -> Found:
    servers = config.get("nameservers", ())
    if len(servers) > _MOST_NAMESERVERS:
        problem = f"must not have more than {_MOST_NAMESERVERS} nameservers"
        yield field_errors.invalid(f"{path}.nameservers", servers, problem)
    for i, server in enumerate(servers):
        problems = ip_problems(server, strict=context.on("StrictIPCIDRValidation"))
        yield from invalid_findings(problems, server, f"{path}.nameservers[{i}]")
    searches = config.get("searches", ())
    if len(searches) > _MOST_SEARCHES:
        problem = f"must not have more than {_MOST_SEARCHES} search paths"
        yield field_errors.invalid(f"{path}.searches", searches, problem)
    if too_long(" ".join(searches), _LONGEST_SEARCHES):
        problem = f"must not have more than {_LONGEST_SEARCHES} characters (including spaces) in the search list"
        yield field_errors.invalid(f"{path}.searches", searches, problem)
    for i, search in enumerate(searches):
        if search != ".":
            name = search.removesuffix(".")
            yield from invalid_findings(underscored_subdomain_problems(name), name, f"{path}.searches[{i}]")
    for i, option in enumerate(config.get("options", ())):
        if not option.get("name"):
            yield field_errors.required(f"{path}.options[{i}]", "must not be empty")


def _users_of_their_own(spec: Tree, path: str, context: ValidationContext) -> Found:
    problem = "when `hostUsers` is false"
    if spec.get("hostNetwork") and not context.on("UserNamespacesHostNetworkSupport"):
        yield field_errors.forbidden(f"{path}.hostNetwork", problem)
    for field, shown in (("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec.get(field):
            yield field_errors.forbidden(f"{path}.{shown}", problem)
    for at, container in containers_in_visiting_order(spec, path):
        if container.get("volumeDevices"):
            yield field_errors.forbidden(f"{at}.volumeDevices", problem)


def _files_of_environment(spec: Tree, path: str) -> Found:
    """Yield the problems of variables read from files, whose volumes must be of type emptyDir."""
    volumes = {volume.get("name", ""): volume for volume in spec.get("volumes", ())}
    for at, container in containers_in_visiting_order(spec, path):
        for i, variable in enumerate(container.get("env", ())):
            reference = variable.get("valueFrom", {}).get("fileKeyRef")
            if reference is None:
                continue
            name, field = reference.get("volumeName", ""), f"{at}.env[{i}].valueFrom.fileKeyRef.volumeName"
            volume = volumes.get(name)
            if volume is None:
                yield field_errors.not_found(field, name)
            elif "emptyDir" not in volume and len(volume) > ("name" in volume):
                yield field_errors.invalid(field, name, "referenced volume must be of type emptyDir")
