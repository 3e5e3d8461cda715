"""Validation of pods, and of pod specs in pods and pod templates."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import msgspec

from kschedctl.common.findings import Finding
from kschedctl.common.text.json_text import decoded_json
from kschedctl.objects import field_errors
from kschedctl.objects.defaults import default_pod_spec
from kschedctl.objects.names import (
    ip_problems,
    label_problems,
    qualified_name_problems,
    range_problems,
    subdomain_problems,
    too_long,
    underscored_subdomain_problems,
)
from kschedctl.objects.pod import DELETION_COST, PodSpec
from kschedctl.objects.quantity import QuantityError
from kschedctl.objects.releases.release import Release
from kschedctl.objects.schema.schema import decode_object
from kschedctl.objects.validation.containers import (
    ContainerValidation,
    containers,
    ephemeral_containers,
    image_alone,
    init_containers,
)
from kschedctl.objects.validation.metadata import object_metadata
from kschedctl.objects.validation.part import Part, found_by
from kschedctl.objects.validation.placement import affinity, scheduling_gates, tolerations, topology_spread
from kschedctl.objects.validation.pod_group import scheduling_group
from kschedctl.objects.validation.resources import container_resources, pod_resources
from kschedctl.objects.validation.security import (
    OCI,
    containers_in_visiting_order,
    host_process,
    operating_system,
    pod_security,
    privileged_with_registry_profile,
    shared_processes,
)
from kschedctl.objects.validation.values import Tree, ValidationContext, in_go, labels, relative_path
from kschedctl.objects.validation.volumes import pod_volumes

# Defaults that API servers set on Pods, but not on pod templates, before validation.
#
# Other defaults are applied where a field is validated: an absent field counts as its default.


def default_pod(spec: Tree, context: ValidationContext) -> None:
    """Fill in requests from limits, host ports on the host network, and pod-level requests and limits.

    A negative termination grace period becomes 1 second.

    Args:
        spec: The spec of a Pod, which is modified. A pod that was admitted already has its defaults.
    """
    if context.partial:
        return
    on_host = spec.get("hostNetwork", False)
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1
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
SECCOMP_OF_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_OF_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_RUNTIME_DEFAULT: Final = "runtime/default"
_DOCKER_DEFAULT: Final = "docker/default"
_UNCONFINED: Final = "unconfined"
_LOCALHOST: Final = "localhost/"
_COST: Final = re.compile(r"-?[0-9]+", re.ASCII).fullmatch


def pod_annotations(annotations: Part, spec: Part, context: ValidationContext) -> None:
    """Check the annotations of a pod or pod template."""
    if not annotations:
        return
    own = {key: annotations.child(f"[{key}]", value) for key, value in (annotations.value or {}).items()}
    if MIRROR in own and not spec["nodeName"]:
        own[MIRROR].invalid("must set spec.nodeName if mirror pod annotation is set")
    if own.get(TOLERATIONS):
        _check_tolerations(annotations[TOLERATIONS], context)
    if DELETION_COST in own and not _is_cost(own[DELETION_COST].value):
        own[DELETION_COST].invalid("must be a 32bit integer")
    _check_seccomp(annotations[SECCOMP_OF_POD])
    for key in own:
        if key.startswith(SECCOMP_OF_CONTAINER):
            _check_seccomp(annotations[key])
    names = {container.get("name") for container in containers_in_visiting_order(spec)}
    for key, profile in own.items():
        if not key.startswith(APP_ARMOR):
            continue
        name = key.removeprefix(APP_ARMOR)
        if name not in names:
            profile.invalid("container not found", name)
        if profile.value not in ("", _RUNTIME_DEFAULT, _UNCONFINED) and not profile.value.startswith(_LOCALHOST):
            profile.invalid(f"invalid AppArmor profile name: {field_errors.go_quote(profile.value)}")


def _is_cost(text: str) -> bool:
    if not _COST(text) or (text.startswith("0") and text != "0"):
        return False
    return -(2**31) <= int(text) < 2**31 if len(text) < 20 else False


def _check_tolerations(annotation: Part, context: ValidationContext) -> None:
    try:
        given = decoded_json(annotation.value)
    except ValueError:
        return
    tree, wrong = decode_object({"spec": {"tolerations": given}}, "v1", "Pod")
    if wrong is None:
        tolerations(annotation.with_value(tree["spec"].get("tolerations")), context, of_annotation=True)


def _check_seccomp(annotation: Part) -> None:
    profile = annotation.value
    if profile is None or profile in (_RUNTIME_DEFAULT, _DOCKER_DEFAULT, _UNCONFINED):
        return
    if profile.startswith(_LOCALHOST):
        relative_path(annotation.with_value(profile.removeprefix(_LOCALHOST)))
    else:
        annotation.invalid("must be a valid seccomp profile")


def profiles_agree(own: dict[str, str], spec: Part) -> None:
    """Check that seccomp and AppArmor profiles in annotations and fields do not differ."""
    if not own:
        return
    every = list(containers_in_visiting_order(spec))
    of_pod = spec["securityContext"]["appArmorProfile"].value
    pairs = [(f"{SECCOMP_OF_CONTAINER}{each.get('name')}", each["securityContext"]["seccompProfile"]) for each in every]
    for key, profile in ((SECCOMP_OF_POD, spec["securityContext"]["seccompProfile"]), *pairs):
        if profile.given and key in own:
            _check_agreement(own[key], profile, (_RUNTIME_DEFAULT, _DOCKER_DEFAULT), "seccomp")
    for container in every if spec["os"].get("name") != "windows" else ():
        profile = container["securityContext"].at("appArmorProfile", of_pod)
        key = f"{APP_ARMOR}{container.get('name')}"
        if profile.given and key in own:
            _check_agreement(own[key], profile, (_RUNTIME_DEFAULT,), "apparmor")


def _check_agreement(value: str, profile: Part, defaults: tuple[str, ...], what: str) -> None:
    kind = profile["type"].value
    wrong_type = (
        (kind == "Unconfined" and value != _UNCONFINED)
        or (kind == "RuntimeDefault" and value not in defaults)
        or (kind == "Localhost" and not value.startswith(_LOCALHOST))
        # No annotation names such a profile.
        or kind == OCI
    )
    if wrong_type:
        profile["type"].forbidden(f"{what} type in annotation and field must match")
    elif kind == "Localhost" and value.removeprefix(_LOCALHOST) != profile["localhostProfile"].value:
        profile["localhostProfile"].forbidden(f"{what} profile in annotation and field must match")


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


PREEMPTION_POLICIES: Final = ("PreemptLowerPriority", "Never")
_MAX_INT32: Final = 2**31 - 1
_MOST_NAMESERVERS: Final = 3
_MOST_SEARCHES: Final = 32
_LONGEST_SEARCHES: Final = 2048
_LONGEST_HOSTNAME: Final = 64


def pod(tree: Part, context: ValidationContext) -> None:
    """Check a new Pod."""
    metadata, spec = tree.at("metadata", {}), tree.at("spec", {})
    own = metadata.get("annotations", {})
    context = context.of_pod(metadata.value)
    default_pod(spec.value, context)
    if context.partial:
        known = {key: metadata.value[key] for key in ("name", "generateName", "labels") if key in metadata}
        object_metadata(metadata.with_value(known), subdomain_problems, namespaced=True)
    else:
        object_metadata(metadata, subdomain_problems, namespaced=True)
    pod_annotations(metadata["annotations"], spec, context)
    pod_spec(spec, context, annotations=own)
    if not (spec["serviceAccountName"] or spec["serviceAccount"]):
        for source in (source for volume in spec["volumes"] for source in volume["projected"]["sources"]):
            if "serviceAccountToken" in source:
                source["serviceAccountToken"].forbidden("must not be specified when serviceAccountName is not set")
    for container in (*spec["containers"], *spec["initContainers"]):
        image_alone(container)
    if spec["ephemeralContainers"]:
        spec["ephemeralContainers"].forbidden("cannot be set on create")
    if spec["nodeName"] and spec["schedulingGates"]:
        spec["nodeName"].forbidden("cannot be set until all schedulingGates have been cleared")
    profiles_agree(own, spec)


def pod_findings(tree: Tree, release: Release) -> Iterator[Finding]:
    """Yield the problems of an admitted Pod, in the fields that scheduling reads.

    Args:
        tree: The Pod as plain data, without nulls; absent fields are not reported as missing.
    """
    for finding in found_by(pod, tree, "", ValidationContext(release, partial=True)):
        hint = _DEFAULTS_HINT if ".resources." in finding.field else ""
        yield replace(finding, hint=finding.hint or hint)


_DEFAULTS_HINT: Final = "if a container sets no request or limit, defaults and LimitRanges can set one"


def pod_spec(spec: Part, context: ValidationContext, *, annotations: Tree | None = None) -> None:
    """Check the spec of a pod or pod template."""
    context = context.of_users(spec.get("hostUsers", True))
    volumes = pod_volumes(spec["volumes"], context)
    claims = {name for claim in spec["resourceClaims"] if (name := claim.get("name"))}
    _check_resource_claims(spec["resourceClaims"], MIRROR in (annotations or {}))
    checked = ContainerValidation(spec, volumes, claims, context)
    containers(checked)
    init_containers(checked)
    ephemeral_containers(checked)
    if "resources" in spec and context.on("PodLevelResources"):
        pod_resources(spec, claims, context.rules)
    for each in (each for container in spec["containers"] for each in container["ports"] if spec["hostNetwork"]):
        # On the host network, every container port is a host port by default.
        if each["hostPort"] and each.get("hostPort") != each.get("containerPort", 0):
            each["hostPort"].invalid("must match `containerPort` when `hostNetwork` is true")
    spec["restartPolicy"].nonempty.one_of("Always", "OnFailure", "Never")
    spec["dnsPolicy"].nonempty.one_of("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
    _check_placement(spec, context)
    host_process(spec)
    if not context.host_users:
        _check_users_of_their_own(spec, context)
    name = spec["hostnameOverride"]
    if name.given and context.on("HostnameOverride"):
        for field in ("setHostnameAsFQDN", "hostNetwork"):
            if spec[field]:
                name.forbidden(f"may not be specified when {field} is true")
        if too_long(name.value, _LONGEST_HOSTNAME):
            name.too_long(_LONGEST_HOSTNAME)
        name.check(subdomain_problems)
    # The field's old name, serviceAccount, counts if the new one is absent.
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    for given in (spec.child("serviceAccountName", account), spec["nodeName"]):
        given.nonempty.check(subdomain_problems)
    spec["activeDeadlineSeconds"].check(range_problems, 1, _MAX_INT32)
    for given in (spec["hostname"], spec["subdomain"]):
        given.nonempty.check(label_problems)
    _check_classes(spec, context)
    if "schedulingGroup" in spec and context.on("GenericWorkload"):
        scheduling_group(spec["schedulingGroup"])
    if context.on("EnvFiles"):
        _check_files_of_environment(spec)


def _check_placement(spec: Part, context: ValidationContext) -> None:
    """Check node selector, affinity, gates, topology spread, and the fields validated between them."""
    labels(spec["nodeSelector"])
    if "securityContext" in spec or spec["shareProcessNamespace"]:
        pod_security(spec["securityContext"], spec, context)
    privileged_with_registry_profile(spec, context)
    if context.rules.host_namespaces_are_of_spec:
        shared_processes(spec, spec)
    if "affinity" in spec:
        affinity(spec["affinity"], context)
    _check_dns(spec, spec["dnsConfig"], context)
    for gate in spec["readinessGates"]:
        gate.at("conditionType", "").check(qualified_name_problems)
    scheduling_gates(spec["schedulingGates"])
    topology_spread(spec["topologySpreadConstraints"], context)


def _check_classes(spec: Part, context: ValidationContext) -> None:
    """Check the fields from tolerations on: host aliases, classes, overhead, operating system."""
    tolerations(spec["tolerations"], context)
    for alias in spec["hostAliases"]:
        alias.at("ip", "").check(ip_problems, strict=context.on("StrictIPCIDRValidation"))
        for name in alias["hostnames"]:
            name.check(subdomain_problems)
    spec["priorityClassName"].nonempty.check(subdomain_problems)
    spec["runtimeClassName"].check(subdomain_problems)
    if "preemptionPolicy" in spec:
        spec["preemptionPolicy"].require_one_of(*PREEMPTION_POLICIES)
    if "overhead" in spec:
        container_resources(spec.child("overhead", {"limits": spec["overhead"].value}), (), context.rules)
    if "os" in spec:
        operating_system(spec, context)


def _check_resource_claims(claims: Part, is_mirror: bool) -> None:
    names: set[str] = set()
    for claim in claims:
        if is_mirror:
            claim.findings.append(field_errors.forbidden("", "static pods do not support resource claims"))
            continue
        name = claim["name"]
        if name and name.value in names:
            name.duplicate()
        else:
            name.require(rule=label_problems)
            names.add(name.value)
        sources = [claim[field] for field in ("resourceClaimName", "resourceClaimTemplateName") if field in claim]
        if len(sources) != 1:
            problem = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            if sources:
                problem = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            claim.invalid(problem, in_go("PodResourceClaim", claim.value))
        for source in sources:
            source.check(subdomain_problems)


def _check_dns(spec: Part, config: Part, context: ValidationContext) -> None:
    servers, searches = config["nameservers"], config["searches"]
    is_needed = spec.get("dnsPolicy") == "None" and not context.partial
    if is_needed and not config.given:
        config.required("must provide `dnsConfig` when `dnsPolicy` is None")
    elif is_needed and not servers:
        servers.required("must provide at least one DNS nameserver when `dnsPolicy` is None")
    elif config.given:
        if len(servers.value or ()) > _MOST_NAMESERVERS:
            servers.invalid(f"must not have more than {_MOST_NAMESERVERS} nameservers")
        for server in servers:
            server.check(ip_problems, strict=context.on("StrictIPCIDRValidation"))
        if len(searches.value or ()) > _MOST_SEARCHES:
            searches.invalid(f"must not have more than {_MOST_SEARCHES} search paths")
        if too_long(" ".join(searches.value or ()), _LONGEST_SEARCHES):
            problem = f"must not have more than {_LONGEST_SEARCHES} characters (including spaces) in the search list"
            searches.invalid(problem)
        for search in searches:
            if search.value != ".":
                search.with_value(search.value.removesuffix(".")).check(underscored_subdomain_problems)
        for option in config["options"]:
            if not option["name"]:
                option.required("must not be empty")


def _check_users_of_their_own(spec: Part, context: ValidationContext) -> None:
    problem = "when `hostUsers` is false"
    if spec["hostNetwork"] and not context.on("UserNamespacesHostNetworkSupport"):
        spec["hostNetwork"].forbidden(problem)
    for field, shown in (("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec[field]:
            spec[shown].forbidden(problem)
    for container in containers_in_visiting_order(spec):
        if container["volumeDevices"]:
            container["volumeDevices"].forbidden(problem)


def _check_files_of_environment(spec: Part) -> None:
    """Check variables read from files, whose volumes must be of type emptyDir."""
    volumes = {volume.get("name"): volume.value for volume in spec["volumes"]}
    for variable in (each for container in containers_in_visiting_order(spec) for each in container["env"]):
        reference = variable["valueFrom"]["fileKeyRef"]
        name = reference.at("volumeName", "")
        types = volumes.get(name.value, {}).keys() - {"name"}
        if reference.given and name.value not in volumes:
            name.not_found()
        elif reference.given and types and "emptyDir" not in types:
            name.invalid("referenced volume must be of type emptyDir")
