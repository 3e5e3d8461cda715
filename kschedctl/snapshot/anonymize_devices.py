"""Pseudonyms in what tells of devices, and in the CEL expressions that select them.

Names of drivers, attributes and their text values become others, in objects and in expressions alike. Where an
expression looks inside of a text (``startsWith``, ``matches``), its texts stay and so do the values of the attributes
that it names: no other text would be selected in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from kschedctl.api import device
from kschedctl.api.core import Condition
from kschedctl.api.device import DeviceAttribute, DeviceTaint, DeviceToleration
from kschedctl.snapshot.pseudonyms import Pseudonyms
from kschedctl.snapshot.rewriting import Replacement

#: Fields whose words are Kubernetes' own.
DEVICE_CHOICES: Final = frozenset(
    {
        (device.ExactDeviceRequest, "allocation_mode"),
        (device.DeviceSubRequest, "allocation_mode"),
        (device.DeviceRequest, "allocation_mode"),
    }
)
_LITERAL: Final = re.compile(r"""[rR]?("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')""")
_FIELD: Final = re.compile(r"\.(\??)([A-Za-z_]\w*)(?!\w*\s*\()")
_NUMBER_TEXT: Final = re.compile(r"\b(?:quantity|isQuantity|semver|isSemver)\(\s*$")
_LOOKS_INSIDE: Final = re.compile(
    r"\.(?:startsWith|endsWith|contains|matches|find|findAll|split|substring|indexOf|lastIndexOf|charAt|lowerAscii"
    r"|upperAscii|replace|trim|join)\("
)
#: What Kubernetes itself gives a meaning: the domain, and the attributes in it.
_OWN_DOMAIN: Final = "resource.kubernetes.io"
_OWN_ATTRIBUTES: Final = frozenset({"pcieRoot", "pciBusID"})
_VERSION: Final = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+(?:[-+].*)?")
#: The fields of the variable ``device``.
_OWN: Final = frozenset({"driver", "attributes", "capacity", "allowMultipleAllocations"})
_IDENTIFIER: Final = re.compile(r"[A-Za-z_]\w*")


class DeviceRenaming:
    """What is done with the fields of the kinds of resource.k8s.io.

    Parameters
    ----------
    names : Pseudonyms
        The pseudonyms of the snapshot.
    """

    def __init__(self, names: Pseudonyms) -> None:
        self._names = names
        # Attributes and capacities by their own names, those of Kubernetes' domains, and what expressions look into.
        self._identifiers: set[str] = set()
        self._kept: set[str] = set()
        self._domains: set[str] = set()
        self._looked_inside: set[str] = set()

    @property
    def fields(self) -> dict[tuple[type, str], Replacement]:
        """The replacements by type and field."""
        drivers = (
            device.ResourceSliceSpec,
            device.DeviceRequestAllocationResult,
            device.AllocatedDeviceStatus,
            device.DeviceTaintSelector,
        )
        return {
            **{(type_, "driver"): self._driver for type_ in drivers},
            (device.CELDeviceSelector, "expression"): self._expression,
            (device.DeviceFeatures, "attributes"): self._attributes,
            (device.DeviceFeatures, "capacity"): self._by_qualified_name,
            (device.CapacityRequirements, "requests"): self._by_qualified_name,
            (device.DeviceRequestAllocationResult, "consumed_capacity"): self._by_qualified_name,
            (device.CounterSet, "counters"): self._by_name,
            (device.DeviceCounterConsumption, "counters"): self._by_name,
            (device.DeviceConstraint, "requests"): lambda texts: tuple(map(self._request, texts)),
            (device.DeviceRequestAllocationResult, "request"): self._request,
            (device.DeviceConstraint, "match_attribute"): self._optional_qualified,
            (device.DeviceConstraint, "distinct_attribute"): self._optional_qualified,
            (device.AllocatedDeviceStatus, "conditions"): self._conditions,
            (device.ResourceClaimConsumerReference, "uid"): self._names.uid,
        }

    @property
    def structs(self) -> dict[type[msgspec.Struct], Replacement]:
        """The replacements of whole structs."""
        return {DeviceTaint: self._taint, DeviceToleration: self._taint}

    def _driver(self, name: str | None) -> str | None:
        return None if name is None else self._domain(name)

    def _domain(self, name: str) -> str:
        if name == _OWN_DOMAIN:
            return name
        self._domains.add(name)
        return self._names.word(name, "driver")

    def _qualified(self, name: str) -> str:
        domain, slash, identifier = name.partition("/")
        if not slash:
            domain, identifier = "", name
        if domain == _OWN_DOMAIN and identifier in _OWN_ATTRIBUTES:
            self._kept.add(identifier)
            return name
        self._identifiers.add(identifier)
        own = self._names.word(identifier, "attribute")
        return f"{self._domain(domain)}/{own}" if slash else own

    def _optional_qualified(self, name: str | None) -> str | None:
        return None if name is None else self._qualified(name)

    def _request(self, name: str) -> str:
        return "/".join(map(self._names.word, name.split("/")))

    def _by_qualified_name(self, values: Mapping[str, Any] | None) -> dict[str, Any] | None:
        return None if values is None else {self._qualified(name): value for name, value in values.items()}

    def _by_name(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {self._names.word(name): value for name, value in values.items()}

    def _attributes(self, attributes: Mapping[str, DeviceAttribute]) -> dict[str, DeviceAttribute]:
        return {self._qualified(name): self._attribute(name, value) for name, value in attributes.items()}

    def _attribute(self, name: str, attribute: DeviceAttribute) -> DeviceAttribute:
        text, version = attribute.string_value, attribute.version_value
        if version is not None and not _VERSION.fullmatch(version):
            attribute = replace(attribute, version_value=self._names.word(version, "value"))
        if text is None or name.rpartition("/")[2] in self._looked_inside:
            return attribute
        return replace(attribute, string_value=self._names.word(text, "value"))

    def _taint(self, taint: Any) -> Any:
        names = self._names
        return replace(taint, key=names.key(taint.key), value=names.value(taint.key, taint.value))

    def _conditions(self, conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
        return tuple(
            Condition(
                type=self._names.word(condition.type),
                status=condition.status,
                last_transition_time=condition.last_transition_time,
            )
            for condition in conditions
        )

    def _expression(self, expression: str) -> str:
        """An expression with pseudonyms for the texts and the fields in it."""
        literals = list(_LITERAL.finditer(expression))
        looks_inside = _LOOKS_INSIDE.search(expression) is not None
        if looks_inside:
            self._looked_inside |= {found[1][1:-1] for found in literals} | {f[2] for f in _FIELD.finditer(expression)}
        out = []
        end = 0
        for found in literals:
            out.append(self._fields(expression[end : found.start()]))
            text = found[1][1:-1]
            kept = _NUMBER_TEXT.search(expression[: found.start()]) is not None
            out.append(found[0] if kept else found[0].replace(text, self._text(text, looks_inside), 1))
            end = found.end()
        return "".join([*out, self._fields(expression[end:])])

    def _text(self, text: str, looks_inside: bool) -> str:
        if text == _OWN_DOMAIN or (looks_inside and text not in self._domains and text not in self._identifiers):
            return text
        return self._names.word(text, "value")

    def _fields(self, code: str) -> str:
        return _FIELD.sub(self._field, code)

    def _field(self, found: re.Match[str]) -> str:
        optional, name = found[1], found[2]
        if name in _OWN or name in self._kept:
            return found[0]
        pseudonym = self._names.word(name, "attribute")
        if _IDENTIFIER.fullmatch(pseudonym):
            return f".{optional}{pseudonym}"
        return f'[{optional}"{pseudonym}"]'
