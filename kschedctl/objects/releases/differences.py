"""The rules that differ between two releases, one by one, with the release that has only one of them at another value.

A rule is a field of ``Release`` or of one of its parts, or a feature gate. Rules without an effect on the decision for
one pod are left out: the queue, the validation by API servers, and the reading of configurations.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct, structs

from kschedctl.objects.releases.release import RELEASES, Release
from kschedctl.objects.releases.rule_words import RULE_WORDS, RuleWords

#: The feature gates of a release, which differ one by one.
_GATES: Final = "features"
#: The place of a release's name in words.
_RELEASE: Final = "{release}"
#: Fields and parts of a release without an effect on the decision for one pod.
NOT_OF_ONE_POD: Final[Mapping[str, str]] = {
    "queue": "the order and the time of attempts",
    "queue_gates": "the order and the time of attempts",
    "validation": "the objects that an API server accepts",
    "absent_config_fields": "the configurations that kube-scheduler accepts",
    "capacity_ratio_follows_type": "the configurations that kube-scheduler accepts",
    "dynamic_resources_binding_timeout": "the configurations that kube-scheduler accepts",
    "inert_plugins": "the configurations that kube-scheduler accepts",
    "plugins_without_args": "the configurations that kube-scheduler accepts",
    "gate_dependencies": "the feature gates that kube-scheduler accepts",
    "idle_gates": "the feature gates that are reported as idle",
    "pod_group_rules.gang_gate": "the feature gate that stands for a rule, which differs itself",
    "pod_group_rules.preemption_gate": "the feature gate that stands for a rule, which differs itself",
    "pod_group_rules.condition": "the condition of the PodGroup",
    "pod_group_rules.queues_groups": "the order and the time of attempts",
    "pod_group_rules.batch_spans_group": "the number of cycles for equal pods",
}
#: Fields that follow a rule, because they are about the same plugins.
_FOLLOWING: Final[Mapping[str, tuple[str, ...]]] = {"ungated_plugins": ("plugins_without_args",)}


@dataclass(frozen=True, slots=True)
class RuleDifference:
    """A rule of which two releases have different values."""

    #: The path of the field: ``fit_gives_up``, ``devices.whole_pools`` or ``features.NAME``.
    path: str
    #: The value of each release; for a feature gate, true if it is on.
    values: tuple[Any, Any]
    #: The versions of the releases.
    versions: tuple[str, str] = ("", "")
    #: The release that changed the rule last; empty if an option sets the value.
    since: str = ""

    @property
    def words(self) -> RuleWords:
        """The words for the rule; a feature gate without words of its own is named."""
        part, _, name = self.path.rpartition(".")
        if self.path in RULE_WORDS:
            return RULE_WORDS[self.path]
        gate = f"the feature gate {name} is"
        return RuleWords(name, f"{gate} on", f"{gate} off") if part == _GATES else RuleWords(name, name)

    def text(self, side: int) -> str:
        """Return the rule of the first or second release, 0 or 1, in words."""
        value, words = self.values[side], self.words
        if isinstance(value, bool):
            return words.if_on if value else words.if_off
        if _RELEASE in words.if_on:
            return words.if_on.replace(_RELEASE, f"Kubernetes {self.versions[side]}")
        match value:
            case str():
                shown = f'"{value}"'
            case Enum():
                shown = value.name.lower().replace("_", " ")
            case frozenset():
                shown = ", ".join(sorted(map(str, value))) or "none"
            case _:
                shown = str(value)
        return f"{words.if_on}: {shown}"


def differing_rules(first: Release, second: Release) -> tuple[RuleDifference, ...]:
    """Return the rules by which the decisions for one pod can differ between two releases.

    The rules of a part that one of them lacks are not compared: a feature gate turns the part on.

    >>> [rule.words.name for rule in differing_rules(RELEASES["1.33"], RELEASES["1.34"])][2:5]
    ['pod-level-resources', 'volume-attributes-class', 'taint-in-message']
    """
    old, new = _values(first), _values(second)
    versions = first.version, second.version
    found = []
    for path in dict.fromkeys((*new, *old)):
        values = old.get(path, False), new.get(path, False)
        if values[0] != values[1] and ((path in old and path in new) or _part(path) == _GATES):
            found.append(RuleDifference(path, values, versions, _since(path, values, versions)))
    return tuple(found)


def became_true(path: str) -> tuple[str, str]:
    """Return the newest release in which a rule is false, and the first newer one in which it is true.

    >>> became_true("empty_spread_selector_counts")
    ('1.37', '1.38')
    """
    column = {version: _values(release)[path] for version, release in RELEASES.items()}
    return next((old, new) for old, new in reversed([*pairwise(column)]) if column[new] and not column[old])


def with_values_of(release: Release, other: Release, rules: tuple[RuleDifference, ...]) -> Release:
    """Return a release with the values of another one for some rules."""
    own: dict[str, Any] = {}
    gates = dict(release.features)
    parts: dict[str, dict[str, Any]] = {}
    for rule in rules:
        part, _, name = rule.path.rpartition(".")
        if part == _GATES:
            gates.pop(name, None)
            if name in other.features:
                gates[name] = other.features[name]
        elif part:
            parts.setdefault(part, {})[name] = getattr(getattr(other, part), name)
        else:
            own |= {each: getattr(other, each) for each in (name, *_FOLLOWING.get(name, ()))}
    nested = {part: structs.replace(getattr(release, part), **values) for part, values in parts.items()}
    return replace(release, features=MappingProxyType(gates), **nested, **own)


def _values(release: Release) -> dict[str, Any]:
    """Return the values of all rules about one pod, by path."""
    found: dict[str, Any] = {}
    for field in fields(release):
        value = getattr(release, field.name)
        if field.name == _GATES:
            found |= {f"{_GATES}.{name}": on for name, on in value.items()}
        elif isinstance(value, Struct):
            found |= {f"{field.name}.{each}": getattr(value, each) for each in value.__struct_fields__}
        elif value is not None:
            found[field.name] = value
    return {path: value for path, value in found.items() if NOT_OF_ONE_POD.keys().isdisjoint((path, _part(path)))}


def _part(path: str) -> str:
    return path.rpartition(".")[0]


def _since(path: str, values: tuple[Any, Any], versions: tuple[str, str]) -> str:
    """Return the newest of the releases between two whose value differs from that of the release before."""
    names = [*RELEASES]
    if not set(versions) <= set(names):
        return ""
    low, high = sorted(map(names.index, versions))
    column = {name: _values(RELEASES[name]).get(path, False) for name in names[low : high + 1]}
    if (column[versions[0]], column[versions[1]]) != values:
        return ""
    return next((new for old, new in reversed([*pairwise(column)]) if column[old] != column[new]), "")
