"""Selectors of devices: an expression is compiled once and evaluated once per distinguishable device."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from kschedctl.objects.device import Device, DeviceAttribute
from kschedctl.objects.quantity import parse_quantity
from kschedctl.objects.releases.rules import DeviceRules
from kschedctl.scheduler.devices.cel.environment import (
    ATTRIBUTES,
    CAPACITY,
    DRIVER,
    MULTIPLE_ALLOCATIONS,
    CompileError,
    NotModelledError,
    check,
)
from kschedctl.scheduler.devices.cel.functions import shown
from kschedctl.scheduler.devices.cel.program import Meter, UnknownFunctionError, compile_program
from kschedctl.scheduler.devices.cel.syntax import (
    Call,
    Comprehension,
    Constant,
    Identifier,
    ListLiteral,
    MapLiteral,
    Node,
    Select,
)
from kschedctl.scheduler.devices.cel.values import CelError, LazyMap, Quantity, Semver, native_bool, parse_semver
from kschedctl.scheduler.devices.constraints import attribute_value

#: A selector's result for a device: whether it matches, or the error in the scheduler's words.
Answer = bool | str
_WHOLE: Final = (DRIVER, ATTRIBUTES, CAPACITY, MULTIPLE_ALLOCATIONS)


class Selector:
    """A compiled CEL expression that selects devices.

    problem: The reason why the expression does not compile, in the scheduler's words; empty if it does.
    not_modelled: The feature of the expression that is not modelled; empty if there is none. No device matches such
        an expression.

    Args:
        rules: The rules of a release: the fields and values of a device that the expression sees.
    """

    def __init__(self, expression: str, rules: DeviceRules) -> None:
        self.problem = self.not_modelled = ""
        self._program: Callable[..., Any] | None = None
        self._paths: tuple[tuple[str, ...], ...] = ()
        self._rules = rules
        try:
            node = check(expression)
            self._program = compile_program(node)
            self._paths = tuple(sorted(_paths(node)))
        except CompileError as error:
            self.problem = f"CEL compile error: {error}"
        except NotModelledError as error:
            self.not_modelled = str(error)
        except UnknownFunctionError as name:
            self.not_modelled = f"{name}() in the selector {expression}"

    def looks(self, drivers: Sequence[str], devices: Sequence[Device]) -> Sequence[Hashable]:
        """Return a key for each device; the selector has the same result for devices with equal keys."""
        if self._program is None or not self._paths:
            return [()] * len(devices)
        columns = [_seen(drivers, devices, path) for path in self._paths]
        return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))

    def answer(self, driver: str, device: Device) -> Answer:
        """Return the selector's result for a device."""
        if self._program is None:
            return self.problem or False
        try:
            return native_bool(self._program(self._variables(driver, device)))
        except CelError as error:
            return f"CEL runtime error: {error}"

    def cost(self, driver: str, device: Device) -> int:
        """Return the cost of an evaluation in units of the scheduler's limit; 0 if the expression does not compile."""
        meter = Meter()
        if self._program is not None:
            with suppress(CelError):
                self._program(self._variables(driver, device), meter)
        return meter.cost

    def values(self, driver: str, device: Device) -> dict[str, str | None]:
        """Return the fields of a device that the selector reads; ``None`` for an attribute or capacity that is absent.

        The result is for display. Fields that are read as a whole (all attributes, all capacities) are not included.
        """
        out: dict[str, str | None] = {}
        for path in self._paths:
            match path:
                case ("device.attributes", domain, name):
                    attribute = _value_at(driver, device.attributes, domain, name)
                    out[_shown_name(driver, domain, name)] = None if attribute is None else _shown_value(attribute)
                case ("device.capacity", domain, name):
                    capacity = _value_at(driver, device.capacity, domain, name)
                    out[_shown_name(driver, domain, name)] = None if capacity is None else str(capacity.value)
                case ("device.driver",):
                    out["driver"] = driver
                case ("device.allowMultipleAllocations",):
                    out["allowMultipleAllocations"] = shown(self._allows_multiple(device))
        return out

    def _allows_multiple(self, device: Device) -> bool:
        return self._rules.multiple_allocations_visible and bool(device.allow_multiple_allocations)

    def _variables(self, driver: str, device: Device) -> dict[str, Any]:
        return {
            DRIVER: driver,
            ATTRIBUTES: _by_domain(
                driver, {n: _attribute(n, value, self._rules) for n, value in device.attributes.items()}
            ),
            CAPACITY: _by_domain(
                driver, {name: Quantity(parse_quantity(c.value)) for name, c in device.capacity.items()}
            ),
            MULTIPLE_ALLOCATIONS: self._allows_multiple(device),
        }


class _Domains(dict[str, Any]):
    """Attributes or capacities by domain; a domain without entries is an empty map, not an error."""

    def __contains__(self, key: object) -> bool:
        return True

    def __getitem__(self, key: str) -> Any:
        return self.get(key, {})


def _by_domain(driver: str, values: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in values.items():
        domain, slash, identifier = name.partition("/")
        out.setdefault(domain if slash else driver, LazyMap())[identifier if slash else name] = value
    return _Domains(out)


def _attribute(name: str, attribute: DeviceAttribute, rules: DeviceRules) -> Any:
    """Return the value of an attribute; the error that reading it raises, if values are parsed.

    Raises CelError if the attribute has no readable value, and values are not parsed.
    """
    try:
        return _readable_value(attribute, rules)
    except CelError as error:
        if not rules.values_are_parsed:
            raise CelError(f"attribute {name}: {error}") from None
        text = "value is invalid or its type is not supported by this version"
        return CelError(f"attribute {name.rpartition('/')[2]}: {text}")


def _readable_value(attribute: DeviceAttribute, rules: DeviceRules) -> Any:
    listed = attribute.list_value if rules.lists_readable else ()
    if listed:
        return [_version(text) for text in attribute.version_values] or list(listed)
    value = attribute_value(attribute)
    if value is None:
        raise CelError("unsupported attribute value")
    return _version(attribute.version_value) if value is attribute.version_value else value


def _version(text: str) -> Semver:
    try:
        return parse_semver(text)
    except CelError as error:
        raise CelError(f"parse semantic version: {error}") from None


def is_readable(attribute: DeviceAttribute, rules: DeviceRules) -> bool:
    """Report whether an attribute has a value that selectors can read, in releases that do not parse values."""
    try:
        _readable_value(attribute, rules)
    except CelError:
        return False
    return True


def _seen(drivers: Sequence[str], devices: Sequence[Device], path: tuple[str, ...]) -> Sequence[Hashable]:
    """Return the field at a path for each device, in hashable form."""
    both = zip(drivers, devices, strict=True)
    match path:
        case ("device.driver",):
            return drivers
        case ("device.attributes", domain, name):
            return [_hashable(_value_at(driver, device.attributes, domain, name)) for driver, device in both]
        case ("device.capacity", domain, name):
            found = [_value_at(driver, device.capacity, domain, name) for driver, device in both]
            return [None if capacity is None else capacity.value for capacity in found]
        case ("device.attributes",):
            return [
                (driver, tuple((name, _hashable(attribute)) for name, attribute in device.attributes.items()))
                for driver, device in both
            ]
        case ("device.capacity",):
            return [
                (driver, tuple((name, capacity.value) for name, capacity in device.capacity.items()))
                for driver, device in both
            ]
        case _:
            return [device.allow_multiple_allocations for device in devices]


def _value_at(driver: str, values: Mapping[str, Any], domain: str, name: str) -> Any:
    found = values.get(f"{domain}/{name}")
    return values.get(name) if found is None and domain == driver else found


def _shown_name(driver: str, domain: str, name: str) -> str:
    """Return the name of an attribute or capacity as it is written in the ResourceSlice."""
    return name if domain == driver else f"{domain}/{name}"


def _shown_value(attribute: DeviceAttribute) -> str | None:
    """Return the text of an attribute's value, such as ``1.2.0`` or ``[a, b]``; ``None`` if there is no value."""
    if attribute.list_value:
        return f"[{', '.join(map(shown, attribute.list_value))}]"
    found = attribute_value(attribute)
    return None if found is None else shown(found)


def _hashable(attribute: DeviceAttribute | None) -> Hashable:
    if attribute is None:
        return None
    value = attribute.int_value, attribute.bool_value, attribute.string_value, attribute.version_value
    if not attribute.list_value:
        return value
    return attribute.int_values, attribute.bool_values, attribute.string_values, attribute.version_values


def _paths(node: Node) -> set[tuple[str, ...]]:
    """Return the fields that an expression reads: single attributes and capacities if they are named, otherwise all."""
    path = _path(node)
    if path is not None:
        return {path if len(path) == 3 or path[0] not in (ATTRIBUTES, CAPACITY) else path[:1]}
    parts: tuple[Node, ...] = ()
    match node:
        case Select():
            parts = (node.operand,)
        case Call():
            parts = node.arguments
        case ListLiteral():
            parts = node.elements
        case MapLiteral():
            parts = tuple(part for key, value, _ in node.entries for part in (key, value))
        case Comprehension():
            parts = (node.iterated, node.initial, node.condition, node.step, node.result)
    return set[tuple[str, ...]]().union(*map(_paths, parts))


def _path(node: Node) -> tuple[str, ...] | None:
    match node:
        case Identifier(name) if name in _WHOLE:
            return (name,)
        case Select(operand, field, _):
            path = _path(operand)
            return (*path, field) if path is not None and len(path) < 3 else None
        case Call("_[_]" | "_[?_]" | "_?._", (operand, Constant(str(key))), _):
            path = _path(operand)
            return (*path, key) if path is not None and len(path) < 3 else None
        case Call("@in", (Constant(str(key)), container), _):
            path = _path(container)
            return (*path, key) if path is not None and len(path) == 2 else None
    return None
