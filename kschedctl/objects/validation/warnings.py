"""Warnings of an API server about an accepted object (``WarningsOnCreate`` of each kind)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from kschedctl.common.findings import Finding, Severity
from kschedctl.objects.field_errors import go_quote
from kschedctl.objects.names import label_problems, label_value_problems, usual_ip
from kschedctl.objects.quantity import milli_value
from kschedctl.objects.validation.part import Part
from kschedctl.objects.validation.pod import APP_ARMOR, SECCOMP_OF_CONTAINER, SECCOMP_OF_POD, app_armor_profile
from kschedctl.objects.validation.resources import amount_of
from kschedctl.objects.validation.security import containers_in_visiting_order
from kschedctl.objects.validation.values import Tree

# Warnings that several kinds have in common: deprecated labels and volumes, and fractions of bytes.

#: The rule of warnings.
WARNING: Final = "Warning"
#: Deprecated node labels, with the messages about them.
OLD_NODE_LABELS: Final = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
#: Deprecated volume types in the order in which they are checked, with their names in paths and their messages.
OLD_VOLUMES: Final = {
    "photonPersistentDisk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "gitRepo": ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "flocker": ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "quobyte": ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}


def warning(field: str, message: str) -> Finding:
    """Return a finding with the severity of a warning."""
    return Finding(message, field, rule=WARNING, severity=Severity.WARNING)


def node_term(term: Tree, path: str, *, values: bool) -> Iterator[Finding]:
    """Yield the warnings about a node selector term; label values are checked only if `values` is true."""
    for i, requirement in enumerate(term.get("matchExpressions", ())):
        key, at = requirement.get("key", ""), f"{path}.matchExpressions[{i}]"
        if message := OLD_NODE_LABELS.get(key):
            yield warning(f"{at}.key", f"{key} is {message}")
        for n, value in enumerate(requirement.get("values", ()) if values else ()):
            for problem in label_value_problems(value):
                yield warning(f"{at}.values[{n}]", f"{value} is invalid, {problem}")


def fraction(text: Any, path: str) -> Iterator[Finding]:
    """Yield a warning if an amount is not an integral number of bytes."""
    amount = amount_of(text)
    if milli_value(amount.nanos) % 1000:
        yield warning(path, f"fractional byte value {go_quote(str(amount))} is invalid, must be an integer")


def claim_spec(spec: Tree, path: str) -> Iterator[Finding]:
    """Yield the warnings about the spec of a PersistentVolumeClaim."""
    for name in ("requests", "limits"):
        amounts = spec.get("resources", {}).get(name, {})
        if "storage" in amounts:
            yield from fraction(amounts["storage"], f"{path}.resources.{name}[storage]")


def overlapping_paths(volumes: Iterable[Tree]) -> Iterator[str]:
    """Yield a warning per pair of overlapping file paths of a volume, and per projected source that is empty.

    Yields: The API server's message. It contains the volume's name, and comes without a field path.
    """
    for volume in volumes:
        name = go_quote(volume.get("name", ""))
        for field in ("configMap", "secret", "downwardAPI"):
            source = volume.get(field, {})
            for two in _overlaps((path, "") for path in _item_paths(source)):
                shown = _name_in_field(field, source.get("secretName" if field == "secret" else "name", ""))
                yield f"volume {name} ({shown}): overlapping paths: {two}"
        if "projected" in volume:
            paths: list[tuple[str, str]] = []
            for source in volume["projected"].get("sources", ()):
                if not source:
                    yield f"volume {name} (Projected) has no sources provided"
                    continue
                own = list(_of_source(source))
                for two in _overlaps(own, paths):
                    yield f"volume {name} (Projected): overlapping paths: {two}"


def _of_source(source: Tree) -> Iterator[tuple[str, str]]:
    """Yield the paths of a source of a projected volume, each with a description of the source."""
    for field in ("configMap", "secret", "downwardAPI"):
        if source.get(field, {}).get("items") is not None:
            shown = _name_in_field(field, source[field].get("name", ""))
            yield from ((path, shown) for path in _item_paths(source[field]))
            return
    if "serviceAccountToken" in source:
        yield source["serviceAccountToken"].get("path", ""), "ServiceAccountToken"
    elif "clusterTrustBundle" in source:
        bundle = source["clusterTrustBundle"]
        yield bundle.get("path", ""), f"ClusterTrustBundle {go_quote(bundle.get('name', bundle.get('signerName', '')))}"
    elif "podCertificate" in source:
        for field, what in (
            ("certificateChainPath", "chain"),
            ("keyPath", "key"),
            ("credentialBundlePath", "credential bundle"),
        ):
            if path := source["podCertificate"].get(field):
                yield path, f"PodCertificate {what}"


def _name_in_field(field: str, name: str) -> str:
    if field == "downwardAPI":
        return "DownwardAPI"
    return f"{'ConfigMap' if field == 'configMap' else 'Secret'} {go_quote(name)}"


def _item_paths(holder: Tree) -> list[str]:
    return [item.get("path", "") for item in holder.get("items", ())]


def _overlaps(paths: Iterable[tuple[str, str]], seen: list[tuple[str, str]] | None = None) -> Iterator[str]:
    """Yield a description of each pair of overlapping paths, and append the paths to `seen`."""
    seen = [] if seen is None else seen
    for written, source in paths:
        path = written.rstrip("/")
        for other, whose in seen if path else ():
            if other and (f"{other}/".startswith(f"{path}/") or f"{path}/".startswith(f"{other}/")):
                yield f"{_shown_path(path, source)} with {_shown_path(other, whose)}"
        seen.append((path, source))


def _shown_path(path: str, source: str) -> str:
    return f"{go_quote(path)} ({source})" if source else go_quote(path)


# Warnings of an API server about pods and pod templates (``pkg/api/pod/warnings.go``).

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


def pod_warnings(spec: Tree, own: dict[str, str], path: str) -> Iterator[Finding]:
    """Yield the warnings of an API server about a pod or pod template.

    Args:
        spec: The spec of the pod or pod template.
        own: The annotations of the pod or pod template.
        path: The prefix of all field paths: empty for a Pod, or for example ``spec.template.`` for a pod template.
    """
    at = f"{path}spec"
    for key in spec.get("nodeSelector", ()):
        if message := OLD_NODE_LABELS.get(key):
            yield warning(f"{at}.nodeSelector[{key}]", message)
    yield from _node_affinity_warnings(spec.get("affinity", {}).get("nodeAffinity", {}), f"{at}.affinity.nodeAffinity")
    place = f"{at}.topologySpreadConstraints"
    for i, constraint in enumerate(spec.get("topologySpreadConstraints", ())):
        key, field = constraint.get("topologyKey", ""), f"{place}[{i}]"
        if message := OLD_NODE_LABELS.get(key):
            yield warning(f"{field}.topologyKey", f"{key} is {message}")
        if "labelSelector" not in constraint:
            yield warning(f"{field}.labelSelector", _NO_POD)
    for key, message in _ANNOTATIONS.items():
        if key in own:
            yield warning(f"{path}metadata.annotations[{key}]", message)
    yield from _volume_warnings(spec.get("volumes", ()), f"{at}.volumes")
    yield from _repeated(spec, at)
    yield from _fractions(spec.get("overhead", {}), f"{at}.overhead")
    yield from _profiles(spec, own, path)
    for part in containers_in_visiting_order(Part(spec, at)):
        container, field = part.value, part.path
        resources = container.get("resources", {})
        # An API server checks one resource after the other.
        for resource in ("memory", "ephemeral-storage"):
            for name in ("limits", "requests"):
                yield from _fractions(resources.get(name, {}), f"{field}.resources.{name}", (resource,))
        yield from _hidden_variables(container.get("env", ()), f"{field}.env")
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


def _volume_warnings(volumes: Sequence[Tree], path: str) -> Iterator[Finding]:
    for i, volume in enumerate(volumes):
        for name, (shown, message) in OLD_VOLUMES.items():
            if name in volume:
                yield warning(f"{path}[{i}].{shown}", message)
        template = volume.get("ephemeral", {}).get("volumeClaimTemplate", {})
        yield from claim_spec(template.get("spec", {}), f"{path}[{i}].ephemeral.volumeClaimTemplate.spec")
    for problem in overlapping_paths(volumes):
        yield warning("", problem)


def _node_affinity_warnings(rules: Tree, path: str) -> Iterator[Finding]:
    for i, term in enumerate(rules.get(_REQUIRED, {}).get("nodeSelectorTerms", ())):
        yield from node_term(term, f"{path}.{_REQUIRED}.nodeSelectorTerms[{i}]", values=False)
    for i, preferred in enumerate(rules.get(_PREFERRED, ())):
        yield from node_term(preferred.get("preference", {}), f"{path}.{_PREFERRED}[{i}].preference", values=True)


def _pod_affinity(rules: Tree, path: str) -> Iterator[Finding]:
    for name in ("podAffinity", "podAntiAffinity"):
        for i, term in enumerate(rules.get(name, {}).get(_REQUIRED, ())):
            if "labelSelector" not in term:
                yield warning(f"{path}.{name}.{_REQUIRED}[{i}].labelSelector", _NO_POD)
        for i, weighted in enumerate(rules.get(name, {}).get(_PREFERRED, ())):
            if "labelSelector" not in weighted.get("podAffinityTerm", {}):
                yield warning(f"{path}.{name}.{_PREFERRED}[{i}].podAffinityTerm.labelSelector", _NO_POD)


def _repeated(spec: Tree, path: str) -> Iterator[Finding]:
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


def _address(text: str, path: str) -> Iterator[Finding]:
    if (usual := usual_ip(text)) == text:
        return
    if ":" in usual and "." not in text:
        yield warning(path, f"IPv6 address {go_quote(text)} should be in RFC 5952 canonical format ({go_quote(usual)})")
    else:
        yield warning(path, f"non-standard IP address {go_quote(text)} is invalid: use {go_quote(usual)}")


def _fractions(
    amounts: dict[str, Any], path: str, names: tuple[str, ...] = ("memory", "ephemeral-storage")
) -> Iterator[Finding]:
    for name in names:
        if name in amounts:
            yield from fraction(amounts[name], f"{path}[{name}]")


def _profiles(spec: Tree, own: dict[str, str], path: str) -> Iterator[Finding]:
    if not own:
        return
    seccomp = 'non-functional in v1.27+; use the "seccompProfile" field instead'
    rules, windows = spec.get("securityContext", {}), spec.get("os", {}).get("name") == "windows"
    if SECCOMP_OF_POD in own and "seccompProfile" not in rules:
        yield warning(f"{path}metadata.annotations[{SECCOMP_OF_POD}]", seccomp)
    for container in containers_in_visiting_order(Part(spec)):
        name, inner = container.get("name"), container["securityContext"]
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


def _hidden_variables(variables: Any, path: str) -> Iterator[Finding]:
    seen: set[str] = set()
    for i, variable in enumerate(variables):
        name, value = variable.get("name", ""), variable.get("value", "")
        reference = f"$({name})"
        if name in seen and ("valueFrom" in variable or value == reference or reference not in value):
            message = f"hides previous definition of {go_quote(name)}, which may be dropped when using apply"
            yield warning(f"{path}[{i}]", message)
        seen.add(name)


def _ports(spec: Tree, path: str) -> Iterator[Finding]:
    taken: dict[tuple[int, str], list[tuple[str, Tree]]] = {}
    for part in (part for container in containers_in_visiting_order(Part(spec, path)) for part in container["ports"]):
        port, field = part.value, part.path
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


def _port_names(spec: Tree, path: str) -> Iterator[Finding]:
    names: dict[str, str] = {}
    for port in (port for container in containers_in_visiting_order(Part(spec, path)) for port in container["ports"]):
        name, field = port.get("name"), port.path
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


_STORAGE_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_VOLUME_ANNOTATIONS: Final = {
    _STORAGE_CLASS: 'deprecated since v1.8; use "storageClassName" attribute instead',
    "volume.beta.kubernetes.io/mount-options": 'deprecated since v1.31; use "mountOptions" attribute instead',
}
_VOLUME_PLUGINS: Final = ("cephfs", "photonPersistentDisk", "scaleIO", "storageos", "glusterfs", "rbd")
_HOSTNAME: Final = {
    "v1/Pod": "the Pod's hostname",
    "apps/v1/Deployment": "Pod names and hostnames",
    "apps/v1/ReplicaSet": "Pod names and hostnames",
    "v1/ReplicationController": "Pod names and hostnames",
    "batch/v1/Job": "Pod names and hostnames",
    "batch/v1/CronJob": "Pod names and hostnames",
}
#: The numbers of completions and of parallel pods above which an API server warns about an Indexed Job.
_COMPLETIONS, _PARALLELISM = 100_000, 10_000
_TOO_MANY_INDEXES: Final = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes "
    "might not be able to track completedIndexes when a big number of indexes fail"
)


def warnings(tree: Tree, kind: str, path: str) -> Iterator[Finding]:
    """Yield the warnings of an API server about an accepted object.

    Args:
        kind: The object's version and kind, such as ``apps/v1/Deployment``.
        path: The path of the pod template in the object; empty for a Pod itself.
    """
    metadata = tree.get("metadata", {})
    if kind in _HOSTNAME:
        name = metadata.get("name", "")
        if name and (problems := label_problems(name)):
            advice = "which can result in surprising behavior; a DNS label is recommended"
            yield warning("metadata.name", f"this is used in {_HOSTNAME[kind]}, {advice}: [{' '.join(problems)}]")
    match kind:
        case "v1/PersistentVolume":
            yield from _volume(tree)
        case "v1/PersistentVolumeClaim":
            yield from _claim_warnings(tree)
        case "storage.k8s.io/v1/StorageClass":
            for i, term in enumerate(tree.get("allowedTopologies", ())):
                for n, requirement in enumerate(term.get("matchLabelExpressions", ())):
                    if message := OLD_NODE_LABELS.get(requirement.get("key", "")):
                        yield warning(f"allowedTopologies[{i}].matchLabelExpressions[{n}].key", message)
        case "batch/v1/Job" | "batch/v1/CronJob":
            at = path.removesuffix(".template")
            yield from _job(_inside(tree, at), at)
    if path or kind == "v1/Pod":
        template = _inside(tree, path)
        own = template.get("metadata", {}).get("annotations", {})
        yield from pod_warnings(template.get("spec", {}), own, f"{path}." if path else "")
    if kind == "apps/v1/StatefulSet":
        spec = tree.get("spec", {})
        for i, claim in enumerate(spec.get("volumeClaimTemplates", ())):
            yield from claim_spec(claim.get("spec", {}), f"spec.volumeClaimTemplates[{i}]")
        if spec.get("revisionHistoryLimit", 0) < 0:
            problem = "a negative value retains all historical revisions; a value >= 0 is recommended"
            yield warning("spec.revisionHistoryLimit", problem)


def _claim_warnings(tree: Tree) -> Iterator[Finding]:
    if _STORAGE_CLASS in tree.get("metadata", {}).get("annotations", {}):
        yield warning(f"metadata.annotations[{_STORAGE_CLASS}]", _VOLUME_ANNOTATIONS[_STORAGE_CLASS])
    yield from claim_spec(tree.get("spec", {}), "spec")


def _inside(tree: Tree, path: str) -> Any:
    inside: Any = tree
    for step in path.split(".") if path else ():
        inside = inside.get(step, {})
    return inside


def _job(spec: Tree, path: str) -> Iterator[Finding]:
    if spec.get("completionMode") != "Indexed":
        return
    if spec.get("completions", 0) > _COMPLETIONS and spec.get("parallelism", 0) > _PARALLELISM:
        yield warning(path, _TOO_MANY_INDEXES)


def _volume(tree: Tree) -> Iterator[Finding]:
    spec = tree.get("spec", {})
    for key, message in _VOLUME_ANNOTATIONS.items():
        if key in tree.get("metadata", {}).get("annotations", {}):
            yield warning(f"metadata.annotations[{key}]", message)
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        advice = "Instead, the recommended approach is to use dynamic provisioning."
        message = f"The Recycle reclaim policy is deprecated. {advice}"
        yield warning("spec.persistentVolumeReclaimPolicy", message)
    for i, term in enumerate(spec.get("nodeAffinity", {}).get("required", {}).get("nodeSelectorTerms", ())):
        yield from node_term(term, f"spec.nodeAffinity.required.nodeSelectorTerms[{i}]", values=False)
    for name in _VOLUME_PLUGINS:
        if name in spec:
            shown, message = OLD_VOLUMES[name]
            yield warning(f"spec.{shown}", message)
