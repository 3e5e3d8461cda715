"""Objects generated from a seed: plain objects of each kind in which some fields have arbitrary values."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from random import Random
from typing import Any, Final

from kschedctl.objects.schema.schema import LEAF, LIST, MAP, field_names
from tests.objects.validation.probes import BASES

_TEXTS: Final = (
    *("a", "web", "", "A_b", "x" * 64, "a.b", "-a", "a/b", "example.com/x", "../x", "/abs", "1", "é", "a b", "50%"),
    *("101%", "%", "http", "cpu", "data", "0", "example.com/gpu", "..", "a..b", "metadata.name", "limits.cpu", "app"),
    *("10.0.0.1", "010.1.1.1", "::ffff:1.2.3.4", "\u0001", "<x>&", "UTC", "* * * * *", "0-1", "Retain"),
)
_AMOUNTS: Final = ("1", "500m", "-1", "1.5", "1Gi", "64M", "0", "1e3", "100n", "1.5Gi")
_NUMBERS: Final = (0, 1, 1, 2, 3, 80, 8080, -1, 100, 101, 256, 65536, 1_000_000, 2**31 - 1)
_EITHER: Final = (0, 1, 2, -1, "0", "1", "25%", "0%", "101%", "x", "80", "http", 70000, "33.5%")
_KEYS: Final = (
    *("app", "a", "", "example.com/x", "a b", "cpu", "memory", "example.com/gpu", "hugepages-2Mi", "hugepages-3"),
    *("gpu", "ephemeral-storage", "storage", "kubernetes.io/os", "beta.kubernetes.io/os"),
)
#: Values with a meaning, by field.
_MEANT: Final[Mapping[str, tuple[str, ...]]] = {
    "restartPolicy": ("Always", "OnFailure", "Never", "Sometimes"),
    "operator": ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal"),
    "effect": ("NoSchedule", "NoExecute", "PreferNoSchedule", "X"),
    "whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway", "No"),
    "type": ("RollingUpdate", "Recreate", "OnDelete", "Localhost", "Resource", "Pods", "Utilization", "Value"),
    "protocol": ("TCP", "UDP", "HTTP"),
    "accessModes": ("ReadWriteOnce", "ReadWriteOncePod", "ReadOnlyMany", "RWX"),
    "volumeMode": ("Block", "Filesystem", "x"),
    "completionMode": ("Indexed", "NonIndexed", "x"),
    "action": ("FailJob", "FailIndex", "Ignore", "Restart", "x"),
    "topologyKey": ("kubernetes.io/hostname", "zone", "", "a b"),
    "fieldPath": ("metadata.name", "metadata.labels['a']", "x", "status.podIP"),
    "dnsPolicy": ("None", "Default", "ClusterFirst", "x"),
    "kind": ("PersistentVolumeClaim", "Deployment", "a/b", ""),
}
#: Fields that are usually present, so that validation reaches the fields beside them.
_NEEDED: Final = frozenset(
    {
        *("name", "containers", "template", "spec", "metadata", "selector", "image", "key", "operator"),
        *("topologyKey", "maxSkew", "whenUnsatisfiable", "claimName", "mountPath", "containerPort"),
    }
)
#: Omitted fields: an API server sets them itself, or they depend on a cluster's classes.
_LEFT_OUT: Final = frozenset(
    {
        *("status", "managedFields", "creationTimestamp", "deletionTimestamp", "selfLink", "resourceVersion", "uid"),
        *("generation", "deletionGracePeriodSeconds", "ephemeralContainers", "namespace", "annotations"),
        *("priority", "preemptionPolicy", "overhead", "runtimeClassName", "priorityClassName", "schedulingGroup"),
        "ownerReferences",
    }
)
_ONE_OF_MANY: Final = ("core.v1.Volume", "core.v1.VolumeProjection")
_HOLDERS: Final = ("core.v1.Probe", "core.v1.LifecycleHandler", "autoscaling.v2.MetricSpec")
_DEEPEST: Final = 14


def made_up(kind: str, seed: int, bases: Mapping[str, dict[str, Any]] = BASES) -> dict[str, Any]:
    """Return a generated object.

    Parameters
    ----------
    kind : str
        The kind, one of `bases`.
    seed : int
        The seed; the same seed gives the same object.
    """
    return _Maker(Random(seed)).object(bases[kind])


@cache
def _types() -> Mapping[str, Mapping[str, str]]:
    """Return the fields of all types, without those that the API server of the recorded messages does not know."""
    newer = {name for names in field_names().added.values() for name in names}
    return {
        type_: {name: of for name, of in fields.items() if f"{type_}.{name}" not in newer}
        for type_, fields in field_names().types.items()
    }


class _Maker:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._types = _types()

    def object(self, base: dict[str, Any]) -> dict[str, Any]:
        random = self._random
        obj: dict[str, Any] = json.loads(json.dumps(base))
        root = field_names().kinds[f"{obj['apiVersion']}/{obj['kind']}"]
        for _ in range(random.choice((1, 1, 2, 3))):
            place, type_ = random.choice(list(self._places(obj, root)))
            names = [name for name in self._names(type_) if type_ != root or name not in ("apiVersion", "kind")]
            if not names:
                continue
            name, way = random.choice(names), random.random()
            if way < 0.1 and name in place:
                del place[name]
            elif way < 0.2 and isinstance(place.get(name), list) and place[name]:
                place[name].append(json.loads(json.dumps(place[name][0])))
            else:
                place[name] = self._value(self._types[type_][name], name, 0)
        return obj

    def _names(self, type_: str) -> list[str]:
        return [name for name in self._types[type_] if name not in _LEFT_OUT]

    def _places(self, value: Any, type_: str) -> Iterator[tuple[dict[str, Any], str]]:
        """Yield every object inside a value, with its type."""
        if type_.startswith((LIST, MAP)):
            inside = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
            for item in inside:
                yield from self._places(item, type_[1:])
        elif type_ and not type_.startswith(LEAF) and isinstance(value, dict):
            yield value, type_
            for name, item in value.items():
                if name in self._types[type_]:
                    yield from self._places(item, self._types[type_][name])

    def _value(self, type_: str, name: str, depth: int) -> Any:
        random = self._random
        if type_.startswith(LIST):
            number = random.choice((0, 1, 1, 1, 2)) if depth < _DEEPEST else 0
            return [self._value(type_[1:], name, depth + 1) for _ in range(number)]
        if type_.startswith(MAP):
            # At most one key: with several, an API server checks them in random order.
            number = random.choice((0, 1, 1))
            return {random.choice(_KEYS): self._value(type_[1:], name, depth + 1) for _ in range(number)}
        if not type_ or type_.startswith(LEAF):
            return self._leaf(type_[1:].partition(" ")[0], name)
        return self._struct(type_, depth)

    def _struct(self, type_: str, depth: int) -> dict[str, Any]:
        random, names = self._random, self._names(type_)
        often = 0.35 if type_ in _HOLDERS else random.choice((0.15, 0.3, 0.5))
        if type_ in _ONE_OF_MANY:
            sources = random.sample([name for name in names if name != "name"], random.choice((0, 1, 1, 1, 1, 2)))
            names, often = [*(name for name in names if name == "name"), *sources], 1.0
        chosen = [name for name in names if random.random() < (0.93 if name in _NEEDED else often)]
        return {name: self._value(self._types[type_][name], name, depth + 1) for name in chosen}

    def _leaf(self, leaf: str, name: str) -> Any:
        random = self._random
        if random.random() < 0.01:
            return random.choice((True, 1, "x", [], {}, 1.5, None))
        match leaf:
            case "string":
                if name in _MEANT and random.random() < 0.9:
                    return random.choice(_MEANT[name])
                return random.choice(("a", "b", "web") if random.random() < 0.4 else _TEXTS)
            case "int32" | "int64":
                return random.choice(_NUMBERS)
            case "bool":
                return random.random() < 0.5
            case "quantity":
                return random.choice(_AMOUNTS) if random.random() < 0.97 else "abc"
            case "intOrString":
                return random.choice(_EITHER)
            case "time":
                return "2026-01-01T00:00:00Z"
            case _:
                return "x"
