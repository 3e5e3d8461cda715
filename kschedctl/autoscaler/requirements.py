"""Requirements on the labels of a node that does not exist yet (karpenter ``pkg/scheduling``, requirement.go).

A label of a known node has one value. One of a node to come is a set of admitted values, which each pod narrows down.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from kschedctl.objects.selectors import DOES_NOT_EXIST, EXISTS, GT, IN, LT, NOT_IN, NodeSelectorRequirement
from kschedctl.objects.well_known import (
    BETA_INSTANCE_TYPE,
    BETA_REGION,
    BETA_ZONE,
    HOSTNAME,
    INSTANCE_TYPE,
    REGION,
    ZONE,
)

GTE: Final = "Gte"
LTE: Final = "Lte"
ARCH: Final = "kubernetes.io/arch"
OS: Final = "kubernetes.io/os"
#: Labels under their former names, and the label of a CSI driver that means the zone (v1.NormalizedLabels).
_STABLE_KEYS: Final = {
    BETA_ZONE: ZONE,
    BETA_REGION: REGION,
    "beta.kubernetes.io/arch": ARCH,
    "beta.kubernetes.io/os": OS,
    BETA_INSTANCE_TYPE: INSTANCE_TYPE,
    "topology.ebs.csi.aws.com/zone": ZONE,
}
_INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
#: Values of a requirement that are shown; the others are counted.
_MOST_SHOWN: Final = 5
_NONE: Final[frozenset[str]] = frozenset()


class Requirement(msgspec.Struct, frozen=True, kw_only=True):
    """The values that a label may have: those listed, or with ``complement`` all others within the bounds."""

    key: str
    complement: bool = False
    values: frozenset[str] = _NONE
    #: Inclusive bounds of integers; only a complement has them.
    gte: int | None = None
    lte: int | None = None
    #: The least number of different values that the instance types of a node have together.
    min_values: int | None = None

    @property
    def operator(self) -> str:
        """``In``, ``NotIn``, ``Exists`` or ``DoesNotExist``; bounds count as ``Exists``."""
        if self.complement:
            return NOT_IN if self.values else EXISTS
        return IN if self.values else DOES_NOT_EXIST

    @property
    def excludes(self) -> bool:
        """True for ``NotIn`` and ``DoesNotExist``, which a missing label meets."""
        return bool(self.values) if self.complement else not self.values

    def has(self, value: str) -> bool:
        """Report whether the label may have a value."""
        return (value in self.values) is not self.complement and _is_within(value, self.gte, self.lte)

    def __str__(self) -> str:
        text = f"{self.key} {self.operator}"
        if self.values:
            shown = sorted(self.values)
            if len(shown) > _MOST_SHOWN:
                shown[_MOST_SHOWN:] = [f"and {len(shown) - _MOST_SHOWN} others"]
            text += f" [{' '.join(shown)}]"
        if self.gte is not None:
            text += f" >={self.gte}"
        if self.lte is not None:
            text += f" <={self.lte}"
        return text if self.min_values is None else f"{text} minValues {self.min_values}"


#: Requirements by key. A key that is absent admits any value.
Requirements = dict[str, Requirement]


def requirement(key: str, operator: str, values: Iterable[str] = (), min_values: int | None = None) -> Requirement:
    """Return the requirement for an operator of a node selector, of NodePools or of node affinity.

    >>> str(requirement("beta.kubernetes.io/arch", "In", ["arm64"])), str(requirement("cpus", "Gt", ["3"]))
    ('kubernetes.io/arch In [arm64]', 'cpus Exists >=4')
    """
    return _requirement(_STABLE_KEYS.get(key, key), operator, tuple(values), min_values)


@lru_cache(maxsize=1 << 14)
def _requirement(key: str, operator: str, values: tuple[str, ...], min_values: int | None) -> Requirement:
    if operator in (IN, NOT_IN):
        return Requirement(key=key, complement=operator == NOT_IN, values=frozenset(values), min_values=min_values)
    if operator in (GT, LT, GTE, LTE):
        bound = int(values[0]) if values and _INTEGER.fullmatch(values[0]) else 0
        lower = bound + 1 if operator == GT else bound
        upper = bound - 1 if operator == LT else bound
        return Requirement(
            key=key,
            complement=True,
            gte=lower if operator in (GT, GTE) else None,
            lte=upper if operator in (LT, LTE) else None,
            min_values=min_values,
        )
    return Requirement(key=key, complement=operator != DOES_NOT_EXIST, min_values=min_values)


@lru_cache(maxsize=1 << 16)
def intersection(one: Requirement, other: Requirement) -> Requirement:
    """Return the requirement that admits the values that both admit."""
    gte = _larger(one.gte, other.gte)
    lte = other.lte if one.lte is None else one.lte if other.lte is None else min(one.lte, other.lte)
    min_values = _larger(one.min_values, other.min_values)
    if gte is not None and lte is not None and gte > lte:
        return Requirement(key=one.key, min_values=min_values)
    if one.complement:
        values = one.values | other.values if other.complement else other.values - one.values
    else:
        values = one.values - other.values if other.complement else one.values & other.values
    if gte is not None or lte is not None:
        values = frozenset(value for value in values if _is_within(value, gte, lte))
    if not (one.complement and other.complement):
        return Requirement(key=one.key, values=values, min_values=min_values)
    return Requirement(key=one.key, complement=True, values=values, gte=gte, lte=lte, min_values=min_values)


@lru_cache(maxsize=1 << 16)
def intersects(one: Requirement, other: Requirement) -> bool:
    """Report whether a value may be admitted by both; two complements admit one unless their bounds cross."""
    both = intersection(one, other)
    return both.complement or bool(both.values)


def _larger(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else max(one, other)


def _is_within(value: str, gte: int | None, lte: int | None) -> bool:
    if gte is None and lte is None:
        return True
    if not _INTEGER.fullmatch(value):
        return False
    number = int(value)
    return (gte is None or number >= gte) and (lte is None or number <= lte)


def of_labels(labels: Mapping[str, str]) -> Requirements:
    """Return the requirements that labels meet, and no others."""
    return added({}, (requirement(key, IN, (value,)) for key, value in labels.items()))


def of_expressions(expressions: Iterable[NodeSelectorRequirement]) -> Requirements:
    """Return the requirements of a term of a node selector."""
    return added({}, (requirement(each.key, each.operator, each.values) for each in expressions))


def added(requirements: Requirements, more: Iterable[Requirement]) -> Requirements:
    """Return requirements of which each key is narrowed down by the new ones."""
    out = dict(requirements)
    for each in more:
        known = out.get(each.key)
        out[each.key] = each if known is None else intersection(each, known)
    return out


def are_compatible(known: Requirements, wanted: Requirements, undefined: Collection[str] = ()) -> bool:
    """Report whether a node with the known requirements may meet the wanted ones.

    Args:
        undefined: The keys that a node may get although nothing is known of them.
    """
    for key, each in wanted.items():
        own = known.get(key)
        if own is None:
            if key not in undefined and not each.excludes:
                return False
        elif not intersects(own, each) and not (own.excludes and each.excludes):
            return False
    return True


def conflict(known: Requirements, wanted: Requirements) -> bool:
    """Report whether requirements have no value in common for a key, which none that are added can change."""
    return any(
        key in known and not intersects(known[key], each) and not (known[key].excludes and each.excludes)
        for key, each in wanted.items()
    )


def incompatibility(known: Requirements, wanted: Requirements, undefined: Collection[str] = ()) -> str:
    """Return Karpenter's words for why requirements are not compatible; empty if they are."""
    for key in sorted(wanted):
        if key not in undefined and key not in known and not wanted[key].excludes:
            return f'label "{key}" does not have known values{_typo(known, key, undefined)}'
    return "; ".join(conflicts(known, wanted))


def conflicts(known: Requirements, wanted: Requirements) -> list[str]:
    """Return a text for each key on which requirements have no value in common, in order of keys."""
    return [
        f"key {key}, {wanted[key]} not in {known[key]}"
        for key in sorted(known.keys() & wanted.keys())
        if not intersects(known[key], wanted[key]) and not (known[key].excludes and wanted[key].excludes)
    ]


def _typo(known: Requirements, key: str, undefined: Collection[str]) -> str:
    suffix = key.partition("/")[2] if "/" in key else key
    for candidate in (*sorted(undefined), *sorted(known)):
        if key in candidate or candidate.endswith(suffix):
            return f' (typo of "{candidate}"?)'
    return ""


def requirements_text(requirements: Requirements) -> str:
    """Return requirements as Karpenter's errors have them: sorted, without the placeholder for the host name."""
    return ", ".join(sorted(str(each) for key, each in requirements.items() if key != HOSTNAME))
