"""Validation of containers of all kinds, their probes, lifecycle handlers, mounts and devices."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kschedctl.common.findings import Finding
from kschedctl.objects import field_errors
from kschedctl.objects.field_errors import Typed
from kschedctl.objects.names import http_header_problems, port_name_problems, port_problems
from kschedctl.objects.validation.environment import environment, environment_from
from kschedctl.objects.validation.resources import container_resources
from kschedctl.objects.validation.security import container_security
from kschedctl.objects.validation.values import (
    Found,
    Tree,
    ValidationContext,
    given_label_name,
    given_one_of,
    invalid_findings,
    not_negative,
    one_of,
    port,
    relative_path,
    require,
)

# Validation of probes and of the lifecycle handlers that run when a container starts or stops.

_PROBE_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc")
_LIFECYCLE_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "sleep")
_NUMBERS: Final = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_WINDOWS_SIGNALS: Final = ("SIGKILL", "SIGTERM")
_NAMED_SIGNALS: Final = (
    *("ABRT", "ALRM", "BUS", "CHLD", "CLD", "CONT", "FPE", "HUP", "ILL", "INT", "IO", "IOT", "KILL", "PIPE", "POLL"),
    *("PROF", "PWR", "QUIT", "RTMAX", "RTMIN", "SEGV", "STKFLT", "STOP", "SYS", "TERM", "TRAP", "TSTP", "TTIN"),
    *("TTOU", "URG", "USR1", "USR2", "VTALRM", "WINCH", "XCPU", "XFSZ"),
)
_COUNTED_SIGNALS: Final = (*(f"RTMIN+{i}" for i in range(1, 16)), *(f"RTMAX-{i}" for i in range(1, 15)))
_SIGNALS: Final = tuple(sorted(f"SIG{name}" for name in (*_NAMED_SIGNALS, *_COUNTED_SIGNALS)))


def lifecycle(rules: Tree, spec: Tree, path: str, context: ValidationContext) -> Found:
    """Yield the problems of the handlers after start and before stop, and of the stop signal."""
    for name in ("postStart", "preStop"):
        if name in rules:
            yield from _handler(rules[name], _LIFECYCLE_HANDLERS, spec, f"{path}.{name}")
    if "stopSignal" in rules and context.on("ContainerStopSignals"):
        signal = rules["stopSignal"]
        system = spec.get("os")
        at = f"{path}.stopSignal"
        if system is None:
            yield field_errors.forbidden(at, "may not be set for containers with empty `spec.os.name`")
        elif system.get("name") == "windows":
            yield from one_of(signal, _WINDOWS_SIGNALS, at)
        elif system.get("name") == "linux":
            yield from one_of(signal, _SIGNALS, at)


def probes(container: Tree, spec: Tree, path: str) -> Found:
    """Yield the problems of the probes of a container."""
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if name not in container:
            continue
        probe, at = container[name], f"{path}.{name}"
        yield from _probe(probe, spec, at)
        if name != "readinessProbe":
            threshold = probe.get("successThreshold") or 1
            if threshold != 1:
                yield field_errors.invalid(f"{at}.successThreshold", threshold, "must be 1")
        elif "terminationGracePeriodSeconds" in probe:
            seconds = probe["terminationGracePeriodSeconds"]
            problem = "must not be set for readinessProbes"
            yield field_errors.invalid(f"{at}.terminationGracePeriodSeconds", seconds, problem)


def _probe(probe: Tree, spec: Tree, path: str) -> Found:
    yield from _handler(probe, _PROBE_HANDLERS, spec, path)
    for name in _NUMBERS:
        yield from not_negative(probe.get(name), f"{path}.{name}")
    seconds = probe.get("terminationGracePeriodSeconds")
    if seconds is not None and seconds <= 0:
        yield field_errors.invalid(f"{path}.terminationGracePeriodSeconds", seconds, "must be greater than 0")


def _handler(handler: Tree, kinds: tuple[str, ...], spec: Tree, path: str) -> Found:
    found = False
    for kind in kinds:
        if kind not in handler:
            continue
        at = f"{path}.{kind}"
        if found:
            yield field_errors.forbidden(at, "may not specify more than 1 handler type")
            continue
        found = True
        action = handler[kind]
        match kind:
            case "exec":
                yield from require(action.get("command"), f"{at}.command")
            case "httpGet":
                yield from port(action.get("port", 0), f"{at}.port")
                yield from one_of(action.get("scheme") or "HTTP", ("HTTP", "HTTPS"), f"{at}.scheme")
                for header in action.get("httpHeaders", ()):
                    name = header.get("name", "")
                    yield from invalid_findings(http_header_problems(name), name, f"{at}.httpHeaders")
            case "tcpSocket":
                yield from port(action.get("port", 0), f"{at}.port")
            case "grpc":
                number = action.get("port", 0)
                yield from invalid_findings(port_problems(number), number, f"{at}.port")
            case _:
                seconds = action.get("seconds", 0)
                period = spec.get("terminationGracePeriodSeconds", 30)
                if seconds < 0 or seconds > period:
                    problem = f"must be non-negative and less than terminationGracePeriodSeconds ({period})"
                    yield field_errors.invalid(at, seconds, problem)
    if not found:
        yield field_errors.required(path, "must specify a handler type")


_BIDIRECTIONAL: Final = "Bidirectional"
_PROPAGATIONS: Final = (_BIDIRECTIONAL, "HostToContainer", "None")
_RECURSIVE: Final = ("Disabled", "Enabled", "IfPossible")
#: The pod's valid volumes, by name.
Volumes = Mapping[str, Tree]


def volume_mounts(container: Tree, volumes: Volumes, path: str) -> Found:
    """Yield the problems of the volume mounts of a container."""
    devices = {device.get("name", ""): device.get("devicePath", "") for device in container.get("volumeDevices", ())}
    privileged = container.get("securityContext", {}).get("privileged", False)
    places: set[str] = set()
    for i, mount in enumerate(container["volumeMounts"]):
        at = f"{path}[{i}]"
        name, place = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield field_errors.required(f"{at}.name")
        if name not in volumes:
            yield field_errors.not_found(f"{at}.name", name)
        if not place:
            yield field_errors.required(f"{at}.mountPath")
        if place in places:
            yield field_errors.invalid(f"{at}.mountPath", place, "must be unique")
        places.add(place)
        if name in devices:
            yield field_errors.invalid(f"{at}.name", name, "must not already exist in volumeDevices")
        if place in devices.values():
            problem = "must not already exist as a path in volumeDevices"
            yield field_errors.invalid(f"{at}.mountPath", place, problem)
        yield from _check_subpath(mount, path, at)
        yield from _propagation(mount, privileged, path)


def _check_subpath(mount: Tree, path: str, at: str) -> Found:
    """Yield the problems of the subpath of a mount; the path of most messages does not contain the mount's index."""
    if mount.get("subPath"):
        yield from relative_path(mount["subPath"], f"{path}.subPath")
    if expression := mount.get("subPathExpr"):
        if mount.get("subPath"):
            problem = "subPathExpr and subPath are mutually exclusive"
            yield field_errors.invalid(f"{at}.subPathExpr", expression, problem)
        yield from relative_path(expression, f"{path}.subPathExpr")


def _propagation(mount: Tree, privileged: bool, path: str) -> Found:
    propagation = mount.get("mountPropagation")
    if propagation is not None:
        yield from one_of(propagation, _PROPAGATIONS, f"{path}.mountPropagation")
        if propagation == _BIDIRECTIONAL and not privileged:
            problem = "Bidirectional mount propagation is available only to privileged containers"
            yield field_errors.forbidden(f"{path}.mountPropagation", problem)
    recursive = mount.get("recursiveReadOnly")
    if recursive is None:
        return
    yield from one_of(recursive, _RECURSIVE, f"{path}.recursiveReadOnly")
    if recursive in ("Enabled", "IfPossible"):
        if not mount.get("readOnly", False):
            problem = "may only be specified when readOnly is true"
            yield field_errors.forbidden(f"{path}.recursiveReadOnly", problem)
        if propagation not in (None, "None"):
            problem = "may only be specified when mountPropagation is None or not specified"
            yield field_errors.forbidden(f"{path}.recursiveReadOnly", problem)


def volume_devices(container: Tree, volumes: Volumes, path: str) -> Found:
    """Yield the problems of the block devices of a container."""
    mounts = {mount.get("name", ""): mount.get("mountPath", "") for mount in container.get("volumeMounts", ())}
    names: set[str] = set()
    places: set[str] = set()
    for i, device in enumerate(container["volumeDevices"]):
        at = f"{path}[{i}]"
        name, place = device.get("name", ""), device.get("devicePath", "")
        if not name:
            yield field_errors.required(f"{at}.name")
        if name in names:
            yield field_errors.invalid(f"{at}.name", name, "must be unique")
        volume = volumes.get(name)
        block_volume_path = f"{at}.name"
        if volume is None:
            yield field_errors.not_found(block_volume_path, name)
        elif "persistentVolumeClaim" not in volume and "ephemeral" not in volume:
            problem = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            yield field_errors.invalid(block_volume_path, name, problem)
        if not place:
            yield field_errors.required(f"{at}.devicePath")
        if place in places:
            yield field_errors.invalid(f"{at}.devicePath", place, "must be unique")
        if ".." in place.split("/"):
            yield field_errors.invalid(f"{at}.devicePath", place, "can not contain backsteps ('..')")
        else:
            places.add(place)
        if name in mounts:
            yield field_errors.invalid(f"{at}.name", name, "must not already exist in volumeMounts")
        if place in mounts.values():
            problem = "must not already exist as a path in volumeMounts"
            yield field_errors.invalid(f"{at}.devicePath", place, problem)
        if name:
            names.add(name)


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
    """A pod, as far as the validation of its containers needs it."""

    #: The pod's spec.
    spec: Tree
    #: The pod's valid volumes, by name.
    volumes: Volumes
    #: The names of the pod's resource claims.
    claims: Collection[str]
    #: The other inputs of validation.
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
        policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules", ())
        if policy is None:
            if rules and pod.context.rules.restart_rules_need_policy and pod.context.on("ContainerRestartRules"):
                problem = "must specify restartPolicy when restart rules are used"
                yield field_errors.required(f"{at}.restartPolicy", problem)
        elif not pod.context.on("ContainerRestartRules"):
            yield from one_of(policy, (_ALWAYS,), f"{at}.restartPolicy")
        elif policy != _ALWAYS or pod.context.on("RestartAllContainersOnContainerExits"):
            yield from _restart_policy(container, at, pod.context)
        elif rules:
            problem = "restartPolicyRules are not allowed for init containers with restart policy Always"
            yield field_errors.forbidden(f"{at}.restartPolicyRules", problem)
        name = container.get("name", "")
        if name in names:
            yield field_errors.duplicate(f"{at}.name", name)
        elif name:
            names.add(name)
        # Init containers run one after another, so their host ports do not conflict. The message always has index 0.
        yield from _host_ports([container], path)
        if container.get("restartPolicy") == _ALWAYS:
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
    if "volumeMounts" in container and not pod.context.partial:
        yield from volume_mounts(container, pod.volumes, f"{path}.volumeMounts")
    if "volumeDevices" in container:
        yield from volume_devices(container, pod.volumes, f"{path}.volumeDevices")
    if container.get("imagePullPolicy"):
        yield from one_of(container["imagePullPolicy"], PULL_POLICIES, f"{path}.imagePullPolicy")
    if "resources" in container:
        yield from container_resources(container["resources"], pod.claims, f"{path}.resources")
    if "resizePolicy" in container:
        at = f"{path}.resizePolicy"
        names: set[str] = set()
        restart = pod.spec.get("restartPolicy") or _ALWAYS
        for i, policy in enumerate(container["resizePolicy"]):
            name, after = policy.get("resourceName", ""), policy.get("restartPolicy", "")
            if name in names:
                yield field_errors.duplicate(f"{at}[{i}]", Typed(name))
            names.add(name)
            yield from given_one_of(name, ("cpu", "memory"), at)
            yield from given_one_of(after, ("NotRequired", "RestartContainer"), at)
            if restart == _NEVER and after != "NotRequired":
                whose = "pod " if pod.context.rules.resize_message_names_pod else ""
                problem = f"must be 'NotRequired' when {whose}`restartPolicy` is 'Never'"
                yield field_errors.invalid(at, Typed(after), problem)
    if "securityContext" in container:
        yield from container_security(container["securityContext"], f"{path}.securityContext", context)


def _ports(ports: Sequence[Tree], path: str) -> Found:
    names: set[str] = set()
    for i, each in enumerate(ports):
        at = f"{path}[{i}]"
        if name := each.get("name", ""):
            problems = list(port_name_problems(name))
            yield from invalid_findings(problems, name, f"{at}.name")
            if not problems and name in names:
                yield field_errors.duplicate(f"{at}.name", name)
            if not problems:
                names.add(name)
        number, host = each.get("containerPort", 0), each.get("hostPort", 0)
        if not number:
            yield field_errors.required(f"{at}.containerPort")
        else:
            yield from invalid_findings(port_problems(number), number, f"{at}.containerPort")
        if host:
            yield from invalid_findings(port_problems(host), host, f"{at}.hostPort")
        yield from one_of(each.get("protocol") or "TCP", _PROTOCOLS, f"{at}.protocol")


def _host_ports(own: Sequence[Tree], path: str) -> Found:
    taken: set[str] = set()
    for i, container in enumerate(own):
        for n, each in enumerate(container.get("ports", ())):
            if not each.get("hostPort"):
                continue
            key = f"{each.get('protocol') or 'TCP'}/{each.get('hostIP', '')}/{each['hostPort']}"
            if key in taken:
                yield field_errors.duplicate(f"{path}[{i}].ports[{n}].hostPort", key)
            taken.add(key)


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
