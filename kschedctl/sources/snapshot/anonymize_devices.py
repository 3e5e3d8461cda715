"""Pseudonyms in objects about devices, and in the CEL expressions that select them."""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from kschedctl.objects import device
from kschedctl.objects.core import Condition
from kschedctl.objects.device import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    Counter,
    DeviceAttribute,
    DeviceCapacity,
    DeviceTaint,
    DeviceToleration,
)
from kschedctl.objects.quantity import QuantityError, parse_quantity
from kschedctl.sources.snapshot.pseudonyms import Pseudonyms
from kschedctl.sources.snapshot.rewriting import Replacement, anonymous_amount

# Pseudonyms in the CEL expressions that select devices.
#
# A rewritten expression selects the same devices: drivers, attributes and text values get the same pseudonyms as in
# objects. Words of the language and numbers are kept. Everything else is replaced by a pseudonym or removed, even if
# the
# text is not a valid expression.

#: Kubernetes' own attribute domain, and the attributes in it.
OWN_DOMAIN: Final = "resource.kubernetes.io"
OWN_ATTRIBUTES: Final = frozenset({"pcieRoot", "pciBusID"})
VERSION: Final = re.compile(r"v?[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]*)?(?:\+[0-9A-Za-z.-]*)?", re.ASCII)
#: An identifier of a version's suffix with letters.
_SUFFIX_WORD: Final = re.compile(r"[0-9A-Za-z]*[A-Za-z][0-9A-Za-z]*", re.ASCII)
_SUFFIX_WORDS: Final = frozenset({"alpha", "beta", "rc", "pre", "dev"})
#: A string literal or a comment.
_LITERAL: Final = re.compile(r"""[rR]?("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|//[^\n]*""")
#: A word, with a preceding dot (of a field or method) and a following parenthesis (of a call), if any.
_WORD: Final = re.compile(r"(\.\s*(\??)\s*)?(\w+)(?=(\s*\()?)")
_NUMBER: Final = re.compile(r"[0-9]+(?:[eE][0-9]*)?[uU]?|0[xX][0-9a-fA-F]+[uU]?", re.ASCII)
#: Characters that the language does not use outside of string literals.
_FOREIGN: Final = re.compile(r"[^\w\s.?()\[\]{}<>=!&|+\-*/%:,\"'`]")
_NUMBER_TEXT: Final = re.compile(r"\b(?:quantity|isQuantity|semver|isSemver)\(\s*$")
_LOOKS_INSIDE: Final = re.compile(
    r"\.(?:startsWith|endsWith|contains|matches|find|findAll|split|substring|indexOf|lastIndexOf|charAt|lowerAscii"
    r"|upperAscii|replace|trim|join)\("
)
#: The fields of the variable ``device``.
_FIELDS: Final = frozenset({"driver", "attributes", "capacity", "allowMultipleAllocations"})
#: Words that are not preceded by a dot: variables, constants, types, and the first parts of function names.
_NAMES: Final = frozenset(
    {
        *("device", "true", "false", "null", "in"),
        *("int", "uint", "double", "string", "bool", "bytes", "list", "map", "type", "dyn", "null_type"),
        *("optional_type", "optional", "cel", "sets", "math", "strings", "lists", "ip", "cidr", "kubernetes"),
    }
)
#: Functions, methods and macros of CEL and of Kubernetes, in all releases.
CEL_FUNCTIONS: Final = frozenset(
    {
        *("has", "all", "exists", "exists_one", "existsOne", "map", "filter", "bind", "optMap", "optFlatMap"),
        *("size", "int", "uint", "double", "string", "bool", "bytes", "dyn", "type"),
        *("of", "none", "ofNonZeroValue", "hasValue", "value", "or", "orValue"),
        *("quantity", "isQuantity", "sign", "isInteger", "asInteger", "asApproximateFloat", "add", "sub"),
        *("compareTo", "isLessThan", "isGreaterThan", "semver", "isSemver", "major", "minor", "patch"),
        *("contains", "startsWith", "endsWith", "matches", "charAt", "indexOf", "lastIndexOf", "substring", "split"),
        *("replace", "join", "trim", "lowerAscii", "upperAscii", "quote", "find", "findAll", "format", "named"),
        *("validate", "isSorted", "sum", "min", "max", "includes", "distinct", "flatten", "slice", "sort", "sortBy"),
        *("range", "reverse", "first", "last", "transformList", "transformMap", "transformMapEntry"),
        *("equivalent", "intersects", "duration", "timestamp", "url", "isURL", "getScheme", "getHost", "getHostname"),
        *("getPort", "getEscapedPath", "getQuery", "ip", "isIP", "cidr", "isCIDR", "containsIP", "containsCIDR"),
        *("isCanonical", "family", "isUnspecified", "isLoopback", "isLinkLocalMulticast", "isLinkLocalUnicast"),
        *("isGlobalUnicast", "masked", "prefixLength"),
    }
)


class ExpressionRenaming:
    """A rewriter of expressions, which records the attributes whose text they inspect.

    domains: The domains, and the identifiers, of attributes and capacities in objects; the attributes of
        Kubernetes' own domain.
    identifiers: The domains, and the identifiers, of attributes and capacities in objects; the attributes of
        Kubernetes' own domain.
    kept: The domains, and the identifiers, of attributes and capacities in objects; the attributes of Kubernetes'
        own domain.
    looked_inside: Attributes whose text an expression inspects (``startsWith``, ``matches``). Their text values are
        kept, as are the literals in the expression, because no other text would be selected in the same way.
    """

    def __init__(self, names: Pseudonyms) -> None:
        self._names = names
        self.domains: set[str] = set()
        self.identifiers: set[str] = set()
        self.kept: set[str] = set()
        self.looked_inside: set[str] = set()

    def expression(self, text: str) -> str:
        """Return an expression with pseudonyms for its string literals and words.

        Args:
            text: The expression, or any text in its place.
        """
        literals = list(_LITERAL.finditer(text))
        looks_inside = _LOOKS_INSIDE.search(text) is not None
        if looks_inside:
            self.looked_inside |= {found[1][1:-1] for found in literals if found[1]}
            self.looked_inside |= {word[3] for word in _WORD.finditer(text) if word[1] and not word[4]}
        out = []
        end = 0
        for found in literals:
            out.append(self._code(text[end : found.start()]))
            # Comments are dropped.
            if found[1]:
                is_number = _NUMBER_TEXT.search(text[: found.start()]) is not None
                if is_number and VERSION.fullmatch(found[1][1:-1]):
                    out.append(found[0].replace(found[1][1:-1], _version(found[1][1:-1], self._names)))
                elif is_number and _is_quantity(found[1][1:-1]):
                    out.append(found[0])
                else:
                    out.append(self._literal(found, looks_inside))
            end = found.end()
        return "".join([*out, self._code(text[end:])])

    def _literal(self, found: re.Match[str], looks_inside: bool) -> str:
        text = found[1][1:-1]
        own = text == OWN_DOMAIN
        if own or (looks_inside and text not in self.domains and text not in self.identifiers):
            return found[0]
        quote = found[1][0]
        return f"{found[0][: -len(found[1])]}{quote}{self._names.word(text, 'value')}{quote}"

    def _code(self, code: str) -> str:
        return _FOREIGN.sub("$", _WORD.sub(self._word, code))

    def _word(self, found: re.Match[str]) -> str:
        dot, optional, word, call = found[1] or "", found[2], found[3], found[4]
        if call or not dot:
            is_own = word in CEL_FUNCTIONS or (not dot and (word in _NAMES or _NUMBER.fullmatch(word)))
            # The dot may also be the decimal point of a number.
            return found[0] if is_own else f"{dot}{_identifier(self._names.word(word, 'attribute'))}"
        if word in _FIELDS or word in self.kept or _NUMBER.fullmatch(word):
            return found[0]
        pseudonym = self._names.word(word, "attribute")
        return f"{dot}{pseudonym}" if pseudonym.isidentifier() else f'[{optional}"{pseudonym}"]'


def _version(text: str, names: Pseudonyms) -> str:
    """Return a version with pseudonyms for the words of its suffix; those with an order of their own stay."""
    end = re.match(r"v?[0-9.]*", text, re.ASCII)
    numbers = end[0] if end else ""
    return numbers + _SUFFIX_WORD.sub(
        lambda word: word[0] if len(word[0]) == 1 or word[0] in _SUFFIX_WORDS else names.word(word[0], "value"),
        text[len(numbers) :],
    )


def _is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except QuantityError:
        return False
    return True


def _identifier(pseudonym: str) -> str:
    return re.sub(r"\W", "_", pseudonym)


#: Fields with a fixed set of values defined by Kubernetes.
DEVICE_CHOICES: Final = frozenset(
    {
        (device.ExactDeviceRequest, "allocation_mode"),
        (device.DeviceSubRequest, "allocation_mode"),
        (device.DeviceRequest, "allocation_mode"),
    }
)
_STATUSES: Final = frozenset({"True", "False", "Unknown"})


class DeviceRenaming:
    """The replacement rules for the kinds of resource.k8s.io."""

    def __init__(self, names: Pseudonyms) -> None:
        self._names = names
        self._expressions = ExpressionRenaming(names)

    @property
    def fields(self) -> dict[tuple[type, str], Replacement]:
        drivers = (
            device.ResourceSliceSpec,
            device.DeviceRequestAllocationResult,
            device.AllocatedDeviceStatus,
            device.DeviceTaintSelector,
        )
        return {
            **{(type_, "driver"): lambda name: None if name is None else self._domain(name) for type_ in drivers},
            (device.CELDeviceSelector, "expression"): self._expressions.expression,
            (device.DeviceFeatures, "attributes"): lambda attributes: {
                self._qualified(name): self._attribute(name, value) for name, value in attributes.items()
            },
            (device.DeviceFeatures, "capacity"): self._capacities,
            (device.CapacityRequirements, "requests"): self._renamed_amounts,
            (device.DeviceRequestAllocationResult, "consumed_capacity"): self._renamed_amounts,
            (device.CounterSet, "counters"): self._counters,
            (device.DeviceCounterConsumption, "counters"): self._counters,
            (device.DeviceConstraint, "requests"): lambda texts: tuple(map(self._renamed_request, texts)),
            (device.DeviceRequestAllocationResult, "request"): self._renamed_request,
            (device.DeviceConstraint, "match_attribute"): self._optional_qualified,
            (device.DeviceConstraint, "distinct_attribute"): self._optional_qualified,
            (device.AllocatedDeviceStatus, "conditions"): self._conditions,
            (device.ResourceClaimConsumerReference, "uid"): self._names.uid,
        }

    @property
    def structs(self) -> dict[type[msgspec.Struct], Replacement]:
        """The replacements of whole structs."""
        return {
            DeviceTaint: self._taint,
            DeviceToleration: lambda one: replace(self._taint(one), operator=self._names.choice(one.operator)),
        }

    def _domain(self, name: str) -> str:
        if name == OWN_DOMAIN:
            return name
        self._expressions.domains.add(name)
        return self._names.word(name, "driver")

    def _qualified(self, name: str) -> str:
        domain, slash, identifier = name.partition("/")
        if not slash:
            domain, identifier = "", name
        if domain == OWN_DOMAIN and identifier in OWN_ATTRIBUTES:
            self._expressions.kept.add(identifier)
            return name
        self._expressions.identifiers.add(identifier)
        own = self._names.word(identifier, "attribute")
        return f"{self._domain(domain)}/{own}" if slash else own

    def _optional_qualified(self, name: str | None) -> str | None:
        return None if name is None else self._qualified(name)

    def _renamed_request(self, name: str) -> str:
        return "/".join(map(self._names.word, name.split("/")))

    def _renamed_amounts(self, amounts: Mapping[str, Any] | None) -> dict[str, Any] | None:
        if amounts is None:
            return None
        return {self._qualified(name): anonymous_amount(amount) for name, amount in amounts.items()}

    def _capacities(self, capacities: Mapping[str, DeviceCapacity]) -> dict[str, DeviceCapacity]:
        return {
            self._qualified(name): replace(
                capacity,
                value=anonymous_amount(capacity.value),
                request_policy=None if capacity.request_policy is None else _policy(capacity.request_policy),
            )
            for name, capacity in capacities.items()
        }

    def _counters(self, counters: Mapping[str, Counter]) -> dict[str, Counter]:
        return {self._names.word(name): Counter(value=anonymous_amount(c.value)) for name, c in counters.items()}

    def _attribute(self, name: str, attribute: DeviceAttribute) -> DeviceAttribute:
        text, version = attribute.string_value, attribute.version_value
        attribute = replace(
            attribute,
            version_value=None if version is None else self._version(version),
            version_values=tuple(map(self._version, attribute.version_values)),
        )
        if name.rpartition("/")[2] in self._expressions.looked_inside:
            return attribute
        return replace(
            attribute,
            string_value=None if text is None else self._names.word(text, "value"),
            string_values=tuple(self._names.word(one, "value") for one in attribute.string_values),
        )

    def _version(self, text: str) -> str:
        return _version(text, self._names) if VERSION.fullmatch(text) else self._names.word(text, "value")

    def _taint(self, taint: Any) -> Any:
        names = self._names
        key, value = names.key(taint.key), names.value(taint.key, taint.value)
        return replace(taint, key=key, value=value, effect=names.choice(taint.effect))

    def _conditions(self, conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
        return tuple(
            Condition(
                type=self._names.word(condition.type),
                status=condition.status if condition.status in _STATUSES else "Unknown",
                last_transition_time=condition.last_transition_time,
            )
            for condition in conditions
        )


def _policy(policy: CapacityRequestPolicy) -> CapacityRequestPolicy:
    span = policy.valid_range
    return CapacityRequestPolicy(
        default=_optional_amount(policy.default),
        valid_values=tuple(map(anonymous_amount, policy.valid_values)),
        valid_range=None
        if span is None
        else CapacityRequestPolicyRange(
            min=_optional_amount(span.min), max=_optional_amount(span.max), step=_optional_amount(span.step)
        ),
    )


def _optional_amount(amount: Any) -> Any:
    return None if amount is None else anonymous_amount(amount)
