"""Warnings of an API server about pods and pod templates (``pkg/api/pod/warnings.go``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kschedctl.objects.field_errors import go_quote
from kschedctl.objects.formats import usual_ip
from kschedctl.objects.validation.annotations import APP_ARMOR, SECCOMP_OF_CONTAINER, SECCOMP_OF_POD, app_armor_profile
from kschedctl.objects.validation.context import Found, Tree
from kschedctl.objects.validation.overlaps import overlapping_paths
from kschedctl.objects.validation.shared_warnings import (
    OLD_NODE_LABELS,
    OLD_VOLUMES,
    claim_spec,
    fraction,
    node_term,
    warning,
)
from kschedctl.objects.validation.windows import containers_in_visiting_order

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_NO_POD: Final = "a null labelSelector results in matching no pod"
_ANNOTATIONS: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}


def pod_warnings(spec: Tree, own: dict[str, str], path: str) -> Found:
    """Yield the warnings of an API server about a pod or pod template.

    Parameters
    ----------
    spec : dict
        The spec of the pod or pod template.
    own : dict of str to str
        The annotations of the pod or pod template.
    path : str
        The prefix of all field paths: empty for a Pod, or for example ``spec.template.`` for a pod template.
    """
    at = f"{path}spec"
    for key in spec.get("nodeSelector", ()):
        if message := OLD_NODE_LABELS.get(key):
            yield warning(f"{at}.nodeSelector[{key}]", message)
    yield from _node_affinity(spec.get("affinity", {}).get("nodeAffinity", {}), f"{at}.affinity.nodeAffinity")
    yield from _topology_spread(spec.get("topologySpreadConstraints", ()), f"{at}.topologySpreadConstraints")
    for key, message in _ANNOTATIONS.items():
        if key in own:
            yield warning(f"{path}metadata.annotations[{key}]", message)
    yield from _volumes(spec.get("volumes", ()), f"{at}.volumes")
    yield from _repeated(spec, at)
    yield from _fractions(spec.get("overhead", {}), f"{at}.overhead")
    yield from _profiles(spec, own, path)
    for field, container in containers_in_visiting_order(spec, at):
        yield from _container(container, field)
    yield from _ports(spec, at)
    yield from _port_names(spec, at)
    # In a Pod itself, a negative grace period is set to 1 before warnings are computed.
    if path and spec.get("terminationGracePeriodSeconds", 0) < 0:
        problem = "must be >= 0; negative values are invalid and will be treated as 1"
        yield warning(f"{at}.terminationGracePeriodSeconds", problem)
    yield from _pod_affinity(spec.get("affinity", {}), f"{at}.affinity")
    for i, server in enumerate(spec.get("dnsConfig", {}).get("nameservers", ())):
        yield from _address(server, f"{at}.dnsConfig.nameservers[{i}]")
    for i, alias in enumerate(spec.get("hostAliases", ())):
        yield from _address(alias.get("ip", ""), f"{at}.hostAliases[{i}].ip")


def _topology_spread(constraints: Sequence[Tree], path: str) -> Found:
    for i, constraint in enumerate(constraints):
        key, field = constraint.get("topologyKey", ""), f"{path}[{i}]"
        if message := OLD_NODE_LABELS.get(key):
            yield warning(f"{field}.topologyKey", f"{key} is {message}")
        if "labelSelector" not in constraint:
            yield warning(f"{field}.labelSelector", _NO_POD)


def _volumes(volumes: Sequence[Tree], path: str) -> Found:
    for i, volume in enumerate(volumes):
        for name, (shown, message) in OLD_VOLUMES.items():
            if name in volume:
                yield warning(f"{path}[{i}].{shown}", message)
        template = volume.get("ephemeral", {}).get("volumeClaimTemplate", {})
        yield from claim_spec(template.get("spec", {}), f"{path}[{i}].ephemeral.volumeClaimTemplate.spec")
    for problem in overlapping_paths(volumes):
        yield warning("", problem)


def _container(container: Tree, path: str) -> Found:
    resources = container.get("resources", {})
    # An API server checks one resource after the other.
    for resource in ("memory", "ephemeral-storage"):
        for name in ("limits", "requests"):
            yield from _fractions(resources.get(name, {}), f"{path}.resources.{name}", (resource,))
    yield from _hidden_variables(container.get("env", ()), f"{path}.env")


def _node_affinity(rules: Tree, path: str) -> Found:
    for i, term in enumerate(rules.get(_REQUIRED, {}).get("nodeSelectorTerms", ())):
        yield from node_term(term, f"{path}.{_REQUIRED}.nodeSelectorTerms[{i}]", values=False)
    for i, preferred in enumerate(rules.get(_PREFERRED, ())):
        yield from node_term(preferred.get("preference", {}), f"{path}.{_PREFERRED}[{i}].preference", values=True)


def _pod_affinity(rules: Tree, path: str) -> Found:
    for name in ("podAffinity", "podAntiAffinity"):
        for i, term in enumerate(rules.get(name, {}).get(_REQUIRED, ())):
            if "labelSelector" not in term:
                yield warning(f"{path}.{name}.{_REQUIRED}[{i}].labelSelector", _NO_POD)
        for i, weighted in enumerate(rules.get(name, {}).get(_PREFERRED, ())):
            if "labelSelector" not in weighted.get("podAffinityTerm", {}):
                yield warning(f"{path}.{name}.{_PREFERRED}[{i}].podAffinityTerm.labelSelector", _NO_POD)


def _repeated(spec: Tree, path: str) -> Found:
    """Yield the warnings about duplicate host aliases and pull secrets, and about pull secrets without a name."""
    for field, key in (("hostAliases", "ip"), ("imagePullSecrets", "name")):
        seen: set[str] = set()
        for i, item in enumerate(spec.get(field, ())):
            value = item.get(key, "")
            if value in seen:
                yield warning(f"{path}.{field}[{i}].{key}", f"duplicate {key} {go_quote(value)}")
            seen.add(value)
    for i, secret in enumerate(spec.get("imagePullSecrets", ())):
        if not secret.get("name"):
            yield warning(f"{path}.imagePullSecrets[{i}].name", 'invalid empty name ""')


def _address(text: str, path: str) -> Found:
    if (usual := usual_ip(text)) == text:
        return
    if ":" in usual and "." not in text:
        yield warning(path, f"IPv6 address {go_quote(text)} should be in RFC 5952 canonical format ({go_quote(usual)})")
    else:
        yield warning(path, f"non-standard IP address {go_quote(text)} is invalid: use {go_quote(usual)}")


def _fractions(amounts: dict[str, Any], path: str, names: tuple[str, ...] = ("memory", "ephemeral-storage")) -> Found:
    for name in names:
        if name in amounts:
            yield from fraction(amounts[name], f"{path}[{name}]")


def _profiles(spec: Tree, own: dict[str, str], path: str) -> Found:
    if not own:
        return
    seccomp = 'non-functional in v1.27+; use the "seccompProfile" field instead'
    rules, windows = spec.get("securityContext", {}), spec.get("os", {}).get("name") == "windows"
    if SECCOMP_OF_POD in own and "seccompProfile" not in rules:
        yield warning(f"{path}metadata.annotations[{SECCOMP_OF_POD}]", seccomp)
    for _, container in containers_in_visiting_order(spec, ""):
        name, inner = container.get("name", ""), container.get("securityContext", {})
        key = f"{SECCOMP_OF_CONTAINER}{name}"
        if key in own and "seccompProfile" not in inner:
            yield warning(f"{path}metadata.annotations[{key}]", seccomp)
        key = f"{APP_ARMOR}{name}"
        if key in own and "appArmorProfile" not in inner and (path or not windows):
            profile = app_armor_profile(own[key])
            # An annotation that is equal to the pod's own profile causes no deprecation warning.
            if profile is None or profile != rules.get("appArmorProfile"):
                message = 'deprecated since v1.30; use the "appArmorProfile" field instead'
                yield warning(f"{path}metadata.annotations[{key}]", message)


def _hidden_variables(variables: Any, path: str) -> Found:
    seen: set[str] = set()
    for i, variable in enumerate(variables):
        name, value = variable.get("name", ""), variable.get("value", "")
        reference = f"$({name})"
        if name in seen and ("valueFrom" in variable or value == reference or reference not in value):
            message = f"hides previous definition of {go_quote(name)}, which may be dropped when using apply"
            yield warning(f"{path}[{i}]", message)
        seen.add(name)


def _ports(spec: Tree, path: str) -> Found:
    taken: dict[tuple[int, str], list[tuple[str, Tree]]] = {}
    for at, container in containers_in_visiting_order(spec, path):
        for i, port in enumerate(container.get("ports", ())):
            field = f"{at}.ports[{i}]"
            own_ip, own = port.get("hostIP", ""), port.get("hostPort", 0)
            if own_ip and not own:
                yield warning(field, f"hostIP set without hostPort: {_port(port)}")
            others = taken.setdefault((port.get("containerPort", 0), port.get("protocol") or "TCP"), [])
            for other_field, other in others:
                ip, number = other.get("hostIP", ""), other.get("hostPort", 0)
                if (own_ip, own) == (ip, number):
                    yield warning(field, f"duplicate port definition with {other_field}")
                elif not own or not number:
                    yield warning(field, f"overlapping port definition with {other_field}")
                elif own == number and (not own_ip) != (not ip):
                    yield warning(field, f"dangerously ambiguous port definition with {other_field}")
            others.append((field, port))


def _port_names(spec: Tree, path: str) -> Found:
    names: dict[str, str] = {}
    for at, container in containers_in_visiting_order(spec, path):
        for i, port in enumerate(container.get("ports", ())):
            name, field = port.get("name", ""), f"{at}.ports[{i}]"
            if name and name in names:
                which = f"services and probes that select ports by name will use {names[name]}"
                yield warning(field, f"duplicate port name {go_quote(name)} with {names[name]}, {which}")
            names.setdefault(name, field)


def _port(port: Tree) -> str:
    """Return a port as Go prints it."""
    fields = (
        f"Name:{port.get('name', '')} HostPort:{port.get('hostPort', 0)} ContainerPort:{port.get('containerPort', 0)}"
    )
    return f"{{{fields} Protocol:{port.get('protocol') or 'TCP'} HostIP:{port.get('hostIP', '')}}}"
