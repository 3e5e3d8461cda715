"""Validation of containers, init containers and ephemeral containers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from kschedctl.common.findings import Finding
from kschedctl.objects import field_errors
from kschedctl.objects.field_errors import Typed
from kschedctl.objects.formats import port_name_problems, port_problems
from kschedctl.objects.validation.context import Found, Tree, ValidationContext
from kschedctl.objects.validation.environment import environment, environment_from
from kschedctl.objects.validation.handlers import lifecycle, probes
from kschedctl.objects.validation.mounts import Volumes, volume_devices, volume_mounts
from kschedctl.objects.validation.resources import container_resources
from kschedctl.objects.validation.security import container_security
from kschedctl.objects.validation.values import given_label_name, given_one_of, invalid_findings, one_of, require

_ALWAYS: Final = "Always"
_NEVER: Final = "Never"
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_RESTART_POLICIES: Final = ("Always", "Never", "OnFailure")
_MOST_RULES: Final = 20
_MOST_EXIT_CODES: Final = 255
_OF_INIT: Final = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
_OF_SIDECARS: Final = "may not be set for init containers without restartPolicy=Always"
#: The fields that an ephemeral container cannot have, in the order of the Go struct.
_NOT_EPHEMERAL: Final = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
)
_EPHEMERAL: Final = "cannot be set for an Ephemeral Container"


@dataclass(frozen=True, slots=True)
class ContainerValidation:
    """A pod, as far as the validation of its containers needs it.

    Attributes
    ----------
    spec : dict
        The pod's spec.
    volumes : mapping of str to dict
        The pod's valid volumes, by name.
    claims : collection of str
        The names of the pod's resource claims.
    context : ValidationContext
        The other inputs of validation.
    """

    spec: Tree
    volumes: Volumes
    claims: Collection[str]
    context: ValidationContext


def containers(pod: ContainerValidation, path: str) -> Found:
    """Yield the problems of the containers of a pod, which must have at least one."""
    own = pod.spec.get("containers", ())
    if not own:
        yield field_errors.required(path)
        return
    names: set[str] = set()
    for i, container in enumerate(own):
        at = f"{path}[{i}]"
        yield from _common(container, pod, at)
        name = container.get("name", "")
        if name in names:
            yield field_errors.duplicate(f"{at}.name", name)
        names.add(name)
        if _has_lifecycle(container, pod.context):
            yield from lifecycle(container["lifecycle"], pod.spec, f"{at}.lifecycle", pod.context)
        yield from probes(container, pod.spec, at)
        if pod.context.on("ContainerRestartRules"):
            yield from _restart_policy(container, at, pod.context)
        elif "restartPolicy" in container:
            yield field_errors.forbidden(f"{at}.restartPolicy", "may not be set for non-init containers")
    yield from _host_ports(own, path)


def init_containers(pod: ContainerValidation, path: str) -> Found:
    """Yield the problems of the init containers of a pod."""
    names = {container.get("name", "") for container in pod.spec.get("containers", ())}
    for i, container in enumerate(pod.spec.get("initContainers", ())):
        at = f"{path}[{i}]"
        yield from _common(container, pod, at)
        yield from _init_restart_policy(container, at, pod.context)
        name = container.get("name", "")
        if name in names:
            yield field_errors.duplicate(f"{at}.name", name)
        elif name:
            names.add(name)
        # Init containers run one after another, so their host ports do not conflict. The message always has index 0.
        yield from _host_ports([container], path)
        stays = container.get("restartPolicy") == _ALWAYS
        if stays:
            if _has_lifecycle(container, pod.context):
                yield from lifecycle(container["lifecycle"], pod.spec, f"{at}.lifecycle", pod.context)
            yield from probes(container, pod.spec, at)
        else:
            yield from _of_sidecars_alone(container, at, pod.context)


def _of_sidecars_alone(container: Tree, path: str, context: ValidationContext) -> Found:
    """Yield the problems of fields that only sidecars can have, in an init container that runs to completion."""
    for field in _OF_INIT:
        if field in container and (field != "lifecycle" or _has_lifecycle(container, context)):
            yield field_errors.forbidden(f"{path}.{field}", _OF_SIDECARS)
    if context.rules.resize_restarts_only_sidecars:
        for n, policy in enumerate(container.get("resizePolicy", ())):
            if policy.get("restartPolicy") == "RestartContainer":
                problem = "must not be set to 'RestartContainer' for non-sidecar initContainers"
                field = f"{path}.resizePolicy[{n}].restartPolicy"
                yield field_errors.invalid(field, "RestartContainer", problem)


def ephemeral_containers(pod: ContainerValidation, path: str) -> Found:
    """Yield the problems of the ephemeral containers of a pod; a new pod cannot have any."""
    others = {c.get("name", "") for name in ("containers", "initContainers") for c in pod.spec.get(name, ())}
    names = set(others)
    for i, container in enumerate(pod.spec.get("ephemeralContainers", ())):
        at = f"{path}[{i}]"
        yield from _common(container, pod, at)
        yield from image_alone(container, at)
        name, target = container.get("name", ""), container.get("targetContainerName", "")
        if name in names:
            yield field_errors.duplicate(f"{at}.name", name)
        names.add(name)
        if target and target not in others:
            yield field_errors.not_found(f"{at}.targetContainerName", target)
        for field in _NOT_EPHEMERAL:
            if container.get(field) is not None:
                yield field_errors.forbidden(f"{at}.{field}", _EPHEMERAL)
        for n, mount in enumerate(container.get("volumeMounts", ())):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    yield field_errors.forbidden(f"{at}.volumeMounts[{n}].{field}", _EPHEMERAL)


def image_alone(container: Tree, path: str) -> Found:
    """Yield a problem if the image of a Pod's container has leading or trailing white space."""
    image = container.get("image", "")
    if image != image.strip():
        yield field_errors.invalid(f"{path}.image", image, "must not have leading or trailing whitespace")


def _common(container: Tree, pod: ContainerValidation, path: str) -> Found:
    context = pod.context
    yield from given_label_name(container.get("name", ""), f"{path}.name")
    if not context.partial:
        yield from require(container.get("image"), f"{path}.image")
    message_policy = container.get("terminationMessagePolicy") or "File"
    yield from one_of(message_policy, _MESSAGE_POLICIES, f"{path}.terminationMessagePolicy")
    if "ports" in container:
        yield from _ports(container["ports"], f"{path}.ports")
    if "env" in container:
        yield from environment(container["env"], f"{path}.env", context)
    if "envFrom" in container:
        yield from environment_from(container["envFrom"], f"{path}.envFrom", context)
    yield from _volumes(container, pod, path)
    if container.get("imagePullPolicy"):
        yield from one_of(container["imagePullPolicy"], PULL_POLICIES, f"{path}.imagePullPolicy")
    if "resources" in container:
        yield from container_resources(container["resources"], pod.claims, f"{path}.resources")
    if "resizePolicy" in container:
        yield from _resize_policy(container["resizePolicy"], pod, f"{path}.resizePolicy")
    if "securityContext" in container:
        yield from container_security(container["securityContext"], f"{path}.securityContext", context)


def _volumes(container: Tree, pod: ContainerValidation, path: str) -> Found:
    if "volumeMounts" in container and not pod.context.partial:
        yield from volume_mounts(container, pod.volumes, f"{path}.volumeMounts")
    if "volumeDevices" in container:
        yield from volume_devices(container, pod.volumes, f"{path}.volumeDevices")


def _ports(ports: Sequence[Tree], path: str) -> Found:
    names: set[str] = set()
    for i, port in enumerate(ports):
        at = f"{path}[{i}]"
        if name := port.get("name", ""):
            problems = list(port_name_problems(name))
            yield from invalid_findings(problems, name, f"{at}.name")
            if not problems and name in names:
                yield field_errors.duplicate(f"{at}.name", name)
            if not problems:
                names.add(name)
        number, host = port.get("containerPort", 0), port.get("hostPort", 0)
        if not number:
            yield field_errors.required(f"{at}.containerPort")
        else:
            yield from invalid_findings(port_problems(number), number, f"{at}.containerPort")
        if host:
            yield from invalid_findings(port_problems(host), host, f"{at}.hostPort")
        yield from one_of(port.get("protocol") or "TCP", _PROTOCOLS, f"{at}.protocol")


def _host_ports(own: Sequence[Tree], path: str) -> Found:
    taken: set[str] = set()
    for i, container in enumerate(own):
        for n, port in enumerate(container.get("ports", ())):
            if not port.get("hostPort"):
                continue
            key = f"{port.get('protocol') or 'TCP'}/{port.get('hostIP', '')}/{port['hostPort']}"
            if key in taken:
                yield field_errors.duplicate(f"{path}[{i}].ports[{n}].hostPort", key)
            taken.add(key)


def _resize_policy(policies: Sequence[Tree], pod: ContainerValidation, path: str) -> Found:
    names: set[str] = set()
    restart = pod.spec.get("restartPolicy") or _ALWAYS
    for i, policy in enumerate(policies):
        name, after = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if name in names:
            yield field_errors.duplicate(f"{path}[{i}]", Typed(name))
        names.add(name)
        yield from given_one_of(name, ("cpu", "memory"), path)
        yield from given_one_of(after, ("NotRequired", "RestartContainer"), path)
        if restart == _NEVER and after != "NotRequired":
            whose = "pod " if pod.context.rules.resize_message_names_pod else ""
            problem = f"must be 'NotRequired' when {whose}`restartPolicy` is 'Never'"
            yield field_errors.invalid(path, Typed(after), problem)


def _init_restart_policy(container: Tree, path: str, context: ValidationContext) -> Found:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules", ())
    if policy is None:
        if rules and context.rules.restart_rules_need_policy and context.on("ContainerRestartRules"):
            problem = "must specify restartPolicy when restart rules are used"
            yield field_errors.required(f"{path}.restartPolicy", problem)
    elif not context.on("ContainerRestartRules"):
        yield from one_of(policy, (_ALWAYS,), f"{path}.restartPolicy")
    elif policy != _ALWAYS or context.on("RestartAllContainersOnContainerExits"):
        yield from _restart_policy(container, path, context)
    elif rules:
        problem = "restartPolicyRules are not allowed for init containers with restart policy Always"
        yield field_errors.forbidden(f"{path}.restartPolicyRules", problem)


def _restart_policy(container: Tree, path: str, context: ValidationContext) -> Found:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules", ())
    if policy is not None:
        yield from one_of(policy, _RESTART_POLICIES, f"{path}.restartPolicy")
    elif rules:
        yield field_errors.required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used")
    if len(rules) > _MOST_RULES:
        yield _too_many(f"{path}.restartPolicyRules", len(rules), _MOST_RULES, context)
    every = context.on("RestartAllContainersOnContainerExits")
    actions = ("Restart", "RestartAllContainers") if every else ("Restart",)
    listed = actions if context.rules.restart_actions_listed else ("Restart",)
    for i, rule in enumerate(rules):
        at = f"{path}.restartPolicyRules[{i}]"
        action = rule.get("action", "")
        if action not in actions:
            yield field_errors.unsupported(f"{at}.action", action, listed)
        if context.partial:
            continue
        codes = rule.get("exitCodes")
        if codes is None:
            yield field_errors.required(f"{at}.exitCodes", "must be specified")
            continue
        yield from one_of(codes.get("operator", ""), ("In", "NotIn"), f"{at}.exitCodes.operator")
        if len(codes.get("values", ())) > _MOST_EXIT_CODES:
            yield _too_many(f"{at}.exitCodes.values", len(codes["values"]), _MOST_EXIT_CODES, context)


def _too_many(path: str, number: int, most: int, context: ValidationContext) -> Finding:
    if context.rules.restart_rules_are_counted:
        return field_errors.too_many(path, number, most)
    return field_errors.too_long(path, most)


def _has_lifecycle(container: Tree, context: ValidationContext) -> bool:
    """Report whether a container has a lifecycle after fields behind disabled feature gates are dropped."""
    only_signal = container.get("lifecycle", {}).keys() == {"stopSignal"}
    return "lifecycle" in container and (not only_signal or context.on("ContainerStopSignals"))
