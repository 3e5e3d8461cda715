"""Validation of containers of all kinds, their probes, lifecycle handlers, mounts and devices."""

from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from kschedctl.objects.field_errors import Typed
from kschedctl.objects.names import http_header_problems, label_problems, port_name_problems, port_problems
from kschedctl.objects.validation.environment import environment, environment_from
from kschedctl.objects.validation.part import Part
from kschedctl.objects.validation.resources import container_resources
from kschedctl.objects.validation.security import container_security
from kschedctl.objects.validation.values import Tree, ValidationContext, port, relative_path

# Validation of probes and of the lifecycle handlers that run when a container starts or stops.

_PROBE_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc")
_LIFECYCLE_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "sleep")
_NUMBERS: Final = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_NAMED_SIGNALS: Final = (
    *("ABRT", "ALRM", "BUS", "CHLD", "CLD", "CONT", "FPE", "HUP", "ILL", "INT", "IO", "IOT", "KILL", "PIPE", "POLL"),
    *("PROF", "PWR", "QUIT", "RTMAX", "RTMIN", "SEGV", "STKFLT", "STOP", "SYS", "TERM", "TRAP", "TSTP", "TTIN"),
    *("TTOU", "URG", "USR1", "USR2", "VTALRM", "WINCH", "XCPU", "XFSZ"),
)
_COUNTED_SIGNALS: Final = (*(f"RTMIN+{i}" for i in range(1, 16)), *(f"RTMAX-{i}" for i in range(1, 15)))
_SIGNALS: Final = tuple(sorted(f"SIG{name}" for name in (*_NAMED_SIGNALS, *_COUNTED_SIGNALS)))


def _check_lifecycle(rules: Part, spec: Part, context: ValidationContext) -> None:
    """Check the handlers after start and before stop, and the stop signal."""
    for name in ("postStart", "preStop"):
        if name in rules:
            _check_handler(rules[name], _LIFECYCLE_HANDLERS, spec)
    signal, system = rules["stopSignal"], spec["os"]
    if signal.given and context.on("ContainerStopSignals"):
        if not system.given:
            signal.forbidden("may not be set for containers with empty `spec.os.name`")
        elif system.get("name") == "windows":
            signal.one_of("SIGKILL", "SIGTERM")
        elif system.get("name") == "linux":
            signal.one_of(*_SIGNALS)


def _check_probes(container: Part, spec: Part) -> None:
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container[name]
        if not probe.given:
            continue
        threshold, seconds = probe["successThreshold"], probe["terminationGracePeriodSeconds"]
        _check_handler(probe, _PROBE_HANDLERS, spec)
        for number in _NUMBERS:
            probe[number].not_negative()
        if seconds.given and seconds.value <= 0:
            seconds.invalid("must be greater than 0")
        if name != "readinessProbe" and threshold and threshold.value != 1:
            threshold.invalid("must be 1")
        elif name == "readinessProbe" and seconds.given:
            seconds.invalid("must not be set for readinessProbes")


def _check_handler(handler: Part, kinds: tuple[str, ...], spec: Part) -> None:
    given = [kind for kind in kinds if kind in handler]
    for kind in given:
        action = handler[kind]
        match kind:
            case _ if kind != given[0]:
                action.forbidden("may not specify more than 1 handler type")
            case "exec":
                action["command"].require()
            case "httpGet":
                port(action.at("port", 0))
                action["scheme"].nonempty.one_of("HTTP", "HTTPS")
                for header in action.get("httpHeaders", ()):
                    action.child("httpHeaders", header.get("name", "")).check(http_header_problems)
            case "tcpSocket":
                port(action.at("port", 0))
            case "grpc":
                action.at("port", 0).check(port_problems)
            case _:
                seconds, period = action.get("seconds", 0), spec.get("terminationGracePeriodSeconds", 30)
                if not 0 <= seconds <= period:
                    problem = f"must be non-negative and less than terminationGracePeriodSeconds ({period})"
                    action.invalid(problem, seconds)
    if not given:
        handler.required("must specify a handler type")


#: The pod's valid volumes, by name.
Volumes = Mapping[str, Tree]


def _check_mounts(container: Part, volumes: Volumes) -> None:
    mounts = container["volumeMounts"]
    devices = {device.get("name"): device.get("devicePath") for device in container["volumeDevices"]}
    places: set[str] = set()
    for mount in mounts:
        name, place = mount.at("name", ""), mount.at("mountPath", "")
        name.require()
        if name.value not in volumes:
            name.not_found()
        place.require()
        if place.value in places:
            place.invalid("must be unique")
        places.add(place.value)
        if name.value in devices:
            name.invalid("must not already exist in volumeDevices")
        if place.value in devices.values():
            place.invalid("must not already exist as a path in volumeDevices")
        # The path of most other messages does not contain the mount's index.
        at = mounts.with_value(mount.value)
        relative_path(at["subPath"])
        if mount["subPath"] and mount["subPathExpr"]:
            mount["subPathExpr"].invalid("subPathExpr and subPath are mutually exclusive")
        relative_path(at["subPathExpr"])
        _check_propagation(at, container["securityContext"].get("privileged", False))


def _check_propagation(mount: Part, privileged: bool) -> None:
    propagation, recursive = mount["mountPropagation"], mount["recursiveReadOnly"]
    propagation.one_of("Bidirectional", "HostToContainer", "None")
    if propagation.value == "Bidirectional" and not privileged:
        propagation.forbidden("Bidirectional mount propagation is available only to privileged containers")
    recursive.one_of("Disabled", "Enabled", "IfPossible")
    if recursive.value in ("Enabled", "IfPossible"):
        if not mount["readOnly"]:
            recursive.forbidden("may only be specified when readOnly is true")
        if propagation.value not in (None, "None"):
            recursive.forbidden("may only be specified when mountPropagation is None or not specified")


def _check_devices(container: Part, volumes: Volumes) -> None:
    mounts = {mount.get("name"): mount.get("mountPath") for mount in container["volumeMounts"]}
    names: set[str] = set()
    places: set[str] = set()
    for device in container["volumeDevices"]:
        name, place = device.at("name", ""), device.at("devicePath", "")
        name.require()
        if name.value in names:
            name.invalid("must be unique")
        volume = volumes.get(name.value)
        if volume is None:
            name.not_found()
        elif "persistentVolumeClaim" not in volume and "ephemeral" not in volume:
            name.invalid("can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode")
        place.require()
        if place.value in places:
            place.invalid("must be unique")
        if ".." in place.value.split("/"):
            place.invalid("can not contain backsteps ('..')")
        else:
            places.add(place.value)
        if name.value in mounts:
            name.invalid("must not already exist in volumeMounts")
        if place.value in mounts.values():
            place.invalid("must not already exist as a path in volumeMounts")
        if name:
            names.add(name.value)


_ALWAYS: Final = "Always"
PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_MOST_RULES: Final = 20
_MOST_EXIT_CODES: Final = 255
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


class ContainerValidation(msgspec.Struct, frozen=True):
    """A pod, as far as the validation of its containers needs it."""

    #: The pod's spec.
    spec: Part
    #: The pod's valid volumes, by name.
    volumes: Volumes
    #: The names of the pod's resource claims.
    claims: Collection[str]
    #: The other inputs of validation.
    context: ValidationContext


def containers(pod: ContainerValidation) -> None:
    """Check the containers of a pod, which must have at least one."""
    own = pod.spec["containers"]
    own.require()
    names: set[str] = set()
    for container in own:
        _check_container(container, pod)
        name = container.at("name", "")
        if name.value in names:
            name.duplicate()
        names.add(name.value)
        if _has_lifecycle(container, pod.context):
            _check_lifecycle(container["lifecycle"], pod.spec, pod.context)
        _check_probes(container, pod.spec)
        if pod.context.on("ContainerRestartRules"):
            _check_restart_policy(container, pod.context)
        elif "restartPolicy" in container:
            container["restartPolicy"].forbidden("may not be set for non-init containers")
    _check_host_ports(own)


def init_containers(pod: ContainerValidation) -> None:
    """Check the init containers of a pod."""
    own, context = pod.spec["initContainers"], pod.context
    names = {container.get("name") for container in pod.spec["containers"]}
    for container in own:
        _check_container(container, pod)
        policy, rules = container["restartPolicy"], container["restartPolicyRules"]
        if not policy.given:
            if rules and context.rules.restart_rules_need_policy and context.on("ContainerRestartRules"):
                policy.required("must specify restartPolicy when restart rules are used")
        elif not context.on("ContainerRestartRules"):
            policy.one_of(_ALWAYS)
        elif policy.value != _ALWAYS or context.on("RestartAllContainersOnContainerExits"):
            _check_restart_policy(container, context)
        elif rules:
            rules.forbidden("restartPolicyRules are not allowed for init containers with restart policy Always")
        name = container.at("name", "")
        if name.value in names:
            name.duplicate()
        elif name:
            names.add(name.value)
        # Init containers run one after another, so their host ports do not conflict. The message always has index 0.
        _check_host_ports(own.with_value([container.value]))
        if policy.value != _ALWAYS:
            _check_sidecars_alone(container, context)
        else:
            if _has_lifecycle(container, context):
                _check_lifecycle(container["lifecycle"], pod.spec, context)
            _check_probes(container, pod.spec)


def _check_sidecars_alone(container: Part, context: ValidationContext) -> None:
    """Check that an init container that runs to completion has no field that only sidecars can have."""
    for field in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
        if field in container and (field != "lifecycle" or _has_lifecycle(container, context)):
            container[field].forbidden("may not be set for init containers without restartPolicy=Always")
    for policy in container["resizePolicy"] if context.rules.resize_restarts_only_sidecars else ():
        if policy.get("restartPolicy") == "RestartContainer":
            problem = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            policy["restartPolicy"].invalid(problem)


def ephemeral_containers(pod: ContainerValidation) -> None:
    """Check the ephemeral containers of a pod; a new pod cannot have any."""
    others = {c.get("name") for name in ("containers", "initContainers") for c in pod.spec[name]}
    names = set(others)
    for container in pod.spec["ephemeralContainers"]:
        name, target = container.at("name", ""), container["targetContainerName"]
        _check_container(container, pod)
        image_alone(container)
        if name.value in names:
            name.duplicate()
        names.add(name.value)
        if target and target.value not in others:
            target.not_found()
        of_mounts = [mount[field] for mount in container["volumeMounts"] for field in ("subPath", "subPathExpr")]
        given = [container[field] for field in _NOT_EPHEMERAL if field in container]
        for field in (*given, *filter(None, of_mounts)):
            field.forbidden("cannot be set for an Ephemeral Container")


def image_alone(container: Part) -> None:
    """Check that the image of a Pod's container has no leading or trailing white space."""
    image = container.at("image", "")
    if image.value != image.value.strip():
        image.invalid("must not have leading or trailing whitespace")


def _check_container(container: Part, pod: ContainerValidation) -> None:
    context = pod.context
    container["name"].require(rule=label_problems)
    if not context.partial:
        container["image"].require()
    container["terminationMessagePolicy"].nonempty.one_of("File", "FallbackToLogsOnError")
    _check_ports(container["ports"])
    environment(container["env"], context)
    environment_from(container["envFrom"], context)
    if not context.partial:
        _check_mounts(container, pod.volumes)
    _check_devices(container, pod.volumes)
    container["imagePullPolicy"].nonempty.one_of(*PULL_POLICIES)
    if "resources" in container:
        container_resources(container["resources"], pod.claims, context.rules)
    policies = container["resizePolicy"]
    names: set[str] = set()
    for policy in policies:
        # The path of the other messages does not contain the policy's index.
        name, after = policies.with_value(policy.get("resourceName")), policies.with_value(policy.get("restartPolicy"))
        if name.value in names:
            policy.duplicate(Typed(name.value))
        names.add(name.value)
        name.require_one_of("cpu", "memory")
        after.require_one_of("NotRequired", "RestartContainer")
        if pod.spec.get("restartPolicy") == "Never" and after.value != "NotRequired":
            whose = "pod " if context.rules.resize_message_names_pod else ""
            after.typed.invalid(f"must be 'NotRequired' when {whose}`restartPolicy` is 'Never'")
    if "securityContext" in container:
        container_security(container["securityContext"], context)


def _check_ports(ports: Part) -> None:
    names: set[str] = set()
    for each in ports:
        name = each["name"].nonempty
        name.check(port_name_problems)
        if name and not any(port_name_problems(name.value)):
            if name.value in names:
                name.duplicate()
            names.add(name.value)
        if not each["containerPort"]:
            each["containerPort"].required()
        for number in (each["containerPort"], each["hostPort"]):
            number.nonempty.check(port_problems)
        each["protocol"].nonempty.one_of("SCTP", "TCP", "UDP")


def _check_host_ports(containers: Part) -> None:
    taken: set[str] = set()
    for each in (each for container in containers for each in container["ports"] if each["hostPort"]):
        key = f"{each.get('protocol') or 'TCP'}/{each.get('hostIP')}/{each.get('hostPort')}"
        if key in taken:
            each["hostPort"].duplicate(key)
        taken.add(key)


def _check_restart_policy(container: Part, context: ValidationContext) -> None:
    policy, rules = container["restartPolicy"], container["restartPolicyRules"]
    policy.one_of("Always", "Never", "OnFailure")
    if rules and not policy.given:
        policy.required("must specify restartPolicy when restart rules are used")
    _check_number(rules, _MOST_RULES, context)
    every = context.on("RestartAllContainersOnContainerExits")
    actions = ("Restart", "RestartAllContainers") if every else ("Restart",)
    listed = actions if context.rules.restart_actions_listed else ("Restart",)
    for rule in rules:
        action, codes = rule.at("action", ""), rule["exitCodes"]
        if action.value not in actions:
            action.unsupported(listed)
        if not codes.given and not context.partial:
            codes.required("must be specified")
        elif not context.partial:
            codes.at("operator", "").one_of("In", "NotIn")
            _check_number(codes["values"], _MOST_EXIT_CODES, context)


def _check_number(items: Part, most: int, context: ValidationContext) -> None:
    if len(items.value or ()) > most:
        if context.rules.restart_rules_are_counted:
            items.too_many(most)
        else:
            items.too_long(most)


def _has_lifecycle(container: Part, context: ValidationContext) -> bool:
    """Report whether a container has a lifecycle after fields behind disabled feature gates are dropped."""
    only_signal = container.get("lifecycle", {}).keys() == {"stopSignal"}
    return "lifecycle" in container and (not only_signal or context.on("ContainerStopSignals"))
