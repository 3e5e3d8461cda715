"""Warnings of an API server about an accepted object (``WarningsOnCreate`` of each kind)."""

from collections.abc import Iterable, Iterator
from typing import Final

from kschedctl.objects.field_errors import go_quote
from kschedctl.objects.names import label_problems, label_value_problems, usual_ip
from kschedctl.objects.quantity import milli_value
from kschedctl.objects.validation.part import Part
from kschedctl.objects.validation.pod import APP_ARMOR, SECCOMP_OF_CONTAINER, SECCOMP_OF_POD, app_armor_profile
from kschedctl.objects.validation.resources import amount_of
from kschedctl.objects.validation.security import containers_in_visiting_order
from kschedctl.objects.validation.values import Tree

# Warnings that several kinds have in common: deprecated labels and volumes, and fractions of bytes.

#: Deprecated node labels, with the messages about them.
_OLD_NODE_LABELS: Final = {
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
_OLD_VOLUMES: Final = {
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


def _warn_of_terms(terms: Iterable[Part], *, values: bool) -> None:
    """Warn about node selector terms; label values are checked only if `values` is true."""
    for requirement in (requirement for term in terms for requirement in term["matchExpressions"]):
        key = requirement["key"]
        if message := _OLD_NODE_LABELS.get(key.value):
            key.warn(f"{key.value} is {message}")
        for value in requirement["values"] if values else ():
            for problem in label_value_problems(value.value):
                value.warn(f"{value.value} is invalid, {problem}")


def _warn_of_fractions(amounts: Part, *names: str) -> None:
    """Warn about amounts that are not an integral number of bytes."""
    for name in names:
        if name in amounts and milli_value((amount := amount_of(amounts.get(name))).nanos) % 1000:
            message = f"fractional byte value {go_quote(str(amount))} is invalid, must be an integer"
            amounts.child(f"[{name}]", None).warn(message)


def _warn_of_claim(spec: Part) -> None:
    for name in ("requests", "limits"):
        _warn_of_fractions(spec["resources"][name], "storage")


def _overlapping_paths(volumes: Iterable[Tree]) -> Iterator[str]:
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
_ANNOTATIONS: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}


def _warn_of_pod(template: Part, *, is_pod: bool) -> None:
    """Warn about a pod or pod template."""
    spec, annotations = template["spec"], template["metadata"]["annotations"]
    _warn_of_placement(spec)
    for key, message in _ANNOTATIONS.items():
        if key in annotations:
            annotations.child(f"[{key}]", None).warn(message)
    _warn_of_volumes(spec)
    _warn_of_repeated(spec)
    _warn_of_fractions(spec["overhead"], "memory", "ephemeral-storage")
    if annotations:
        _warn_of_profiles(spec, annotations, is_pod)
    for container in containers_in_visiting_order(spec):
        # An API server checks one resource after the other.
        for resource in ("memory", "ephemeral-storage"):
            for name in ("limits", "requests"):
                _warn_of_fractions(container["resources"][name], resource)
        _warn_of_hidden_variables(container["env"])
    ports = [port for container in containers_in_visiting_order(spec) for port in container["ports"]]
    _warn_of_ports(ports)
    # In a Pod itself, a negative grace period is set to 1 before warnings are computed.
    if not is_pod and spec.get("terminationGracePeriodSeconds", 0) < 0:
        problem = "must be >= 0; negative values are invalid and will be treated as 1"
        spec["terminationGracePeriodSeconds"].warn(problem)
    for rules in (spec["affinity"]["podAffinity"], spec["affinity"]["podAntiAffinity"]):
        for term in (*rules[_REQUIRED], *(weighted["podAffinityTerm"] for weighted in rules[_PREFERRED])):
            _warn_without_selector(term)
    for address in (*spec["dnsConfig"]["nameservers"], *(alias.at("ip", "") for alias in spec["hostAliases"])):
        _warn_of_address(address)


def _warn_of_placement(spec: Part) -> None:
    """Warn about node selector, node affinity and topology spread."""
    for key in spec.get("nodeSelector", ()):
        if message := _OLD_NODE_LABELS.get(key):
            spec["nodeSelector"].child(f"[{key}]", None).warn(message)
    rules = spec["affinity"]["nodeAffinity"]
    _warn_of_terms(rules[_REQUIRED]["nodeSelectorTerms"], values=False)
    _warn_of_terms((preferred["preference"] for preferred in rules[_PREFERRED]), values=True)
    for constraint in spec["topologySpreadConstraints"]:
        key = constraint["topologyKey"]
        if message := _OLD_NODE_LABELS.get(key.value):
            key.warn(f"{key.value} is {message}")
        _warn_without_selector(constraint)


def _warn_of_volumes(spec: Part) -> None:
    for volume in spec["volumes"]:
        for name, (shown, message) in _OLD_VOLUMES.items():
            if name in volume:
                volume[shown].warn(message)
        _warn_of_claim(volume["ephemeral"]["volumeClaimTemplate"]["spec"])
    for message in _overlapping_paths(spec.get("volumes", ())):
        # The message comes without a field path.
        Part(None, findings=spec.findings).warn(message)


def _warn_without_selector(holder: Part) -> None:
    if "labelSelector" not in holder:
        holder["labelSelector"].warn("a null labelSelector results in matching no pod")


def _warn_of_repeated(spec: Part) -> None:
    """Warn about duplicate host aliases and pull secrets, and about pull secrets without a name."""
    for field, key in (("hostAliases", "ip"), ("imagePullSecrets", "name")):
        values = [item.get(key) for item in spec[field]]
        for i, item in enumerate(spec[field]):
            if values[i] in values[:i]:
                item[key].warn(f"duplicate {key} {go_quote(values[i])}")
    for secret in spec["imagePullSecrets"]:
        if not secret["name"]:
            secret["name"].warn('invalid empty name ""')


def _warn_of_address(part: Part) -> None:
    text, usual = part.value, usual_ip(part.value)
    if usual != text and ":" in usual and "." not in text:
        part.warn(f"IPv6 address {go_quote(text)} should be in RFC 5952 canonical format ({go_quote(usual)})")
    elif usual != text:
        part.warn(f"non-standard IP address {go_quote(text)} is invalid: use {go_quote(usual)}")


def _warn_of_profiles(spec: Part, annotations: Part, is_pod: bool) -> None:
    seccomp = 'non-functional in v1.27+; use the "seccompProfile" field instead'
    rules, windows = spec["securityContext"], spec["os"].get("name") == "windows"
    if SECCOMP_OF_POD in annotations and "seccompProfile" not in rules:
        annotations.child(f"[{SECCOMP_OF_POD}]", None).warn(seccomp)
    for container in containers_in_visiting_order(spec):
        name, inner = container.get("name"), container["securityContext"]
        key = f"{SECCOMP_OF_CONTAINER}{name}"
        if key in annotations and "seccompProfile" not in inner:
            annotations.child(f"[{key}]", None).warn(seccomp)
        key = f"{APP_ARMOR}{name}"
        if key in annotations and "appArmorProfile" not in inner and not (is_pod and windows):
            profile = app_armor_profile(annotations.get(key))
            # An annotation that is equal to the pod's own profile causes no deprecation warning.
            if profile is None or profile != rules["appArmorProfile"].value:
                message = 'deprecated since v1.30; use the "appArmorProfile" field instead'
                annotations.child(f"[{key}]", None).warn(message)


def _warn_of_hidden_variables(variables: Part) -> None:
    seen: set[str] = set()
    for variable in variables:
        name, value = variable.get("name"), variable.get("value")
        reference = f"$({name})"
        if name in seen and ("valueFrom" in variable or value == reference or reference not in value):
            variable.warn(f"hides previous definition of {go_quote(name)}, which may be dropped when using apply")
        seen.add(name)


def _warn_of_ports(ports: list[Part]) -> None:
    taken: dict[tuple[int, str], list[Part]] = {}
    for port in ports:
        own_ip, own = port.get("hostIP"), port.get("hostPort", 0)
        number, protocol = port.get("containerPort", 0), port.get("protocol") or "TCP"
        if own_ip and not own:
            # As Go prints the port.
            fields = f"Name:{port.get('name')} HostPort:{own} ContainerPort:{number} Protocol:{protocol}"
            port.warn(f"hostIP set without hostPort: {{{fields} HostIP:{own_ip}}}")
        others = taken.setdefault((number, protocol), [])
        for other in others:
            other_ip, other_host = other.get("hostIP"), other.get("hostPort", 0)
            if (own_ip, own) == (other_ip, other_host):
                port.warn(f"duplicate port definition with {other.path}")
            elif not own or not other_host:
                port.warn(f"overlapping port definition with {other.path}")
            elif own == other_host and (not own_ip) != (not other_ip):
                port.warn(f"dangerously ambiguous port definition with {other.path}")
        others.append(port)
    names: dict[str, str] = {}
    for port in ports:
        if (name := port.get("name")) and name in names:
            which = f"services and probes that select ports by name will use {names[name]}"
            port.warn(f"duplicate port name {go_quote(name)} with {names[name]}, {which}")
        names.setdefault(name, port.path)


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


def warnings(tree: Part, kind: str, path: str) -> None:
    """Add the warnings of an API server about an accepted object.

    Args:
        kind: The object's version and kind, such as ``apps/v1/Deployment``.
        path: The path of the pod template in the object; empty for a Pod itself.
    """
    name, spec, annotations = tree["metadata"]["name"], tree["spec"], tree["metadata"]["annotations"]
    if kind in _HOSTNAME and name and (problems := label_problems(name.value)):
        advice = "which can result in surprising behavior; a DNS label is recommended"
        name.warn(f"this is used in {_HOSTNAME[kind]}, {advice}: [{' '.join(problems)}]")
    match kind:
        case "v1/PersistentVolume":
            _warn_of_volume(spec, annotations)
        case "v1/PersistentVolumeClaim":
            if _STORAGE_CLASS in annotations:
                annotations.child(f"[{_STORAGE_CLASS}]", None).warn(_VOLUME_ANNOTATIONS[_STORAGE_CLASS])
            _warn_of_claim(spec)
        case "storage.k8s.io/v1/StorageClass":
            for key in (each["key"] for term in tree["allowedTopologies"] for each in term["matchLabelExpressions"]):
                if key.value in _OLD_NODE_LABELS:
                    key.warn(_OLD_NODE_LABELS[key.value])
        case "batch/v1/Job" | "batch/v1/CronJob":
            _warn_of_job(spec if kind == "batch/v1/Job" else spec["jobTemplate"]["spec"])
    template = tree
    for step in path.split(".") if path else ():
        template = template[step]
    if path or kind == "v1/Pod":
        _warn_of_pod(template, is_pod=not path)
    if kind == "apps/v1/StatefulSet":
        for claim in spec["volumeClaimTemplates"]:
            # The path of the messages does not contain the claim's spec.
            _warn_of_claim(claim.with_value(claim["spec"].value))
        if spec.get("revisionHistoryLimit", 0) < 0:
            problem = "a negative value retains all historical revisions; a value >= 0 is recommended"
            spec["revisionHistoryLimit"].warn(problem)


def _warn_of_job(spec: Part) -> None:
    is_large = spec.get("completions", 0) > _COMPLETIONS and spec.get("parallelism", 0) > _PARALLELISM
    if is_large and spec.get("completionMode") == "Indexed":
        spec.warn(_TOO_MANY_INDEXES)


def _warn_of_volume(spec: Part, annotations: Part) -> None:
    for key, message in _VOLUME_ANNOTATIONS.items():
        if key in annotations:
            annotations.child(f"[{key}]", None).warn(message)
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        advice = "Instead, the recommended approach is to use dynamic provisioning."
        spec["persistentVolumeReclaimPolicy"].warn(f"The Recycle reclaim policy is deprecated. {advice}")
    _warn_of_terms(spec["nodeAffinity"]["required"]["nodeSelectorTerms"], values=False)
    for name in _VOLUME_PLUGINS:
        if name in spec:
            shown, message = _OLD_VOLUMES[name]
            spec[shown].warn(message)
