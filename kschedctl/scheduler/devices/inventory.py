"""The inventory of devices: all devices of a cluster as columns, and the pools that each node can use.

An inventory is built once per cluster and release. Devices are numbered over all slices. The properties that a search
reads (whether a selector matches, an attribute's value, taints) are columns of codes, computed at first use.
"""

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.node_selection import nodes_matching
from kschedctl.cluster.nodes import Nodes
from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.objects.device import (
    CounterSet,
    Device,
    DeviceAttribute,
    DeviceClass,
    DeviceFeatures,
    DeviceSelector,
    DeviceTaintRule,
    ResourceClaim,
    ResourceSlice,
    ResourceSliceSpec,
)
from kschedctl.objects.releases.rules import DeviceRules
from kschedctl.scheduler.devices.claims import KINDS, DeviceID, PoolID, Usage, gather_usage
from kschedctl.scheduler.devices.constraints import (
    ABSENT,
    UNSUPPORTED,
    CounterName,
    attribute_value,
    available_counters,
    lookup_attribute,
)
from kschedctl.scheduler.devices.taints import with_taint_rules

if TYPE_CHECKING:
    from kschedctl.scheduler.devices.selectors import Selector

V = TypeVar("V")

# The pools that each node can use, built from the slices for the node (upstream ``pools_incubating.go``).
#
# A pool differs between nodes, because only slices for the node count. A ``PoolView`` is a pool as some nodes see it;
# nodes that see the same slices and devices share a view.


class PoolView(msgspec.Struct, frozen=True):
    """A pool as some nodes see it."""

    #: The driver and name of the pool.
    id: PoolID
    rows: Int64Array
    #: True if slices are missing.
    incomplete: bool = False
    #: The problem that makes the pool invalid; empty if there is none.
    invalid: str = ""
    #: The slices with devices for these nodes, in search order.
    slices: tuple[ResourceSlice, ...] = ()
    #: The devices in these slices that are not for these nodes, as pairs of slice number and device number.
    elsewhere: frozenset[tuple[int, int]] = frozenset()
    #: The other slices of the pool, whose devices draw from the same counters.
    others: tuple[ResourceSlice, ...] = ()
    #: The counter sets of the pool.
    counter_sets: dict[str, CounterSet] | None = None

    @property
    def usable(self) -> bool:
        """True if devices can be allocated from the pool."""
        return not self.incomplete and not self.invalid

    @property
    def has_binding_conditions(self) -> bool:
        """True if any device becomes ready only after allocation; such pools are searched last."""
        return any(device.binding_conditions for one in self.slices for device in one.spec.devices)


def gather_pools(slices: Iterable[ResourceSlice], nodes: Nodes, rules: DeviceRules) -> list[PoolView]:
    """Return all pools as the nodes see them, in the scheduler's search order."""
    by_pool: dict[PoolID, list[ResourceSlice]] = {}
    for one in slices:
        if rules.hides_compatibility_groups and any(
            use.compatibility_groups for device in one.spec.devices for use in device.consumes_counters
        ):
            continue
        by_pool.setdefault(PoolID(one.spec.driver, one.spec.pool.name), []).append(one)
    views = []
    for pool, found in sorted(by_pool.items()):
        every = sorted(found, key=lambda one: one.name)
        for rows, seen, elsewhere in _seen(every, nodes, rules):
            newest = max(every[i].spec.pool.generation for i in seen)
            view = _view(pool, rows, [every[i] for i in seen if every[i].spec.pool.generation == newest], every, rules)
            if view is None:
                continue
            names = {every[i].name: i for i in seen}
            flagged = frozenset(
                (number, device)
                for number, one in enumerate(view.slices)
                for device in range(len(one.spec.devices))
                if (names[one.name], device) in elsewhere
            )
            views.append(replace(view, elsewhere=flagged))
    return sorted(views, key=lambda view: view.has_binding_conditions)


def _seen(
    slices: Sequence[ResourceSlice], nodes: Nodes, rules: DeviceRules
) -> Iterator[tuple[Int64Array, list[int], frozenset[tuple[int, int]]]]:
    """Yield groups of nodes, the slices for them, and the devices in these slices that are not for them."""
    local: dict[int, list[int]] = {}
    shared: list[tuple[tuple[int, int], Mask]] = []
    for i, one in enumerate(slices):
        counters_only = bool(one.spec.shared_counters) and not rules.counter_slices_count
        if not rules.partitionable and (one.spec.per_device_node_selection is not None or counters_only):
            # The release ignores the slice.
            continue
        if one.spec.node_name and not (one.spec.shared_counters and rules.counter_slices_everywhere):
            if (row := nodes.row.get(one.spec.node_name)) is not None:
                local.setdefault(row, []).append(i)
        else:
            shared += [((i, device), mask) for device, mask in _shared(one.spec, nodes, rules)]
    if not shared:
        for row, found in local.items():
            yield np.array([row], dtype=np.int64), found, frozenset()
        return
    matrix = np.array([mask for _, mask in shared])
    marks = np.full((1, len(nodes)), -1, dtype=np.int64)
    for row in local:
        marks[0, row] = row
    groups, group_of = np.unique(np.vstack([matrix.astype(np.int64), marks]), axis=1, return_inverse=True)
    for number, column in enumerate(groups.T.tolist()):
        keys = [key for (key, _), bit in zip(shared, column, strict=False) if bit]
        seen = sorted([i for i, device in keys if device < 0] + local.get(column[-1], []))
        there = {key for key in keys if key[1] >= 0}
        elsewhere = frozenset(key for key, _ in shared if key[1] >= 0 and key not in there)
        if seen:
            yield np.flatnonzero(group_of.reshape(-1) == number), seen, elsewhere


def _shared(spec: ResourceSliceSpec, nodes: Nodes, rules: DeviceRules) -> Iterator[tuple[int, Mask]]:
    """Yield the nodes of a slice that is not for a single node, and of its devices if they differ.

    The number is -1 for the slice, and otherwise that of the device.
    """
    if spec.shared_counters and rules.counter_slices_everywhere:
        yield -1, np.ones(len(nodes), dtype=np.bool_)
    elif spec.all_nodes or spec.node_selector is not None:
        yield -1, reach(spec, nodes)
    elif spec.per_device_node_selection:
        masks = [reach(device, nodes) for device in spec.devices]
        yield -1, np.any(masks, axis=0) if masks else np.zeros(len(nodes), dtype=np.bool_)
        yield from enumerate(masks)


def reach(of: DeviceFeatures | object, nodes: Nodes) -> Mask:
    """Return the nodes that a slice or device is for: bool, shape (n_nodes,)."""
    name, every, selector = of.node_name, of.all_nodes, of.node_selector  # type: ignore[union-attr]
    mask: Mask = np.zeros(len(nodes), dtype=np.bool_)
    if name:
        if (row := nodes.row.get(name)) is not None:
            mask[row] = True
    elif every:
        mask[:] = True
    elif selector is not None:
        mask = nodes_matching(nodes, selector)
    return mask


def _view(
    pool: PoolID, rows: Int64Array, seen: list[ResourceSlice], every: list[ResourceSlice], rules: DeviceRules
) -> PoolView | None:
    """Return the pool as some nodes see it; ``None`` if newer slices elsewhere make it obsolete."""
    wanted, generation = seen[0].spec.pool.resource_slice_count, seen[0].spec.pool.generation
    others: list[ResourceSlice] = []
    incomplete = len(seen) != wanted
    if incomplete and rules.whole_pools:
        if any(one.spec.pool.generation > generation for one in every):
            return None
        current = [one for one in every if one.spec.pool.generation == generation]
        if len(current) != wanted:
            return PoolView(pool, rows, incomplete=True)
        others = [one for one in current if one.name not in {one.name for one in seen}]
        incomplete = False
    if not rules.partitionable:
        return PoolView(pool, rows, incomplete, _duplicate_device(seen), tuple(seen))
    counting = [one for one in seen if one.spec.shared_counters]
    devices = [one for one in seen if not one.spec.shared_counters]
    if not rules.counter_slices_everywhere:
        counting += [one for one in others if one.spec.shared_counters]
        others = [one for one in others if not one.spec.shared_counters]
    sets: dict[str, CounterSet] = {}
    problem = _duplicate_device(devices)
    for counters in (counters for one in counting for counters in one.spec.shared_counters):
        if counters.name in sets and not problem:
            problem = f"duplicate counter set name {counters.name}"
        sets.setdefault(counters.name, counters)
    problem = problem or _unknown_counter(sets, (*seen, *others))
    return PoolView(pool, rows, incomplete, problem, tuple(devices), frozenset(), tuple(others), sets)


def _duplicate_device(slices: Iterable[ResourceSlice]) -> str:
    names: set[str] = set()
    for device in (device for one in slices for device in one.spec.devices):
        if device.name in names:
            return f"duplicate device name {device.name}"
        names.add(device.name)
    return ""


def _unknown_counter(sets: dict[str, CounterSet], slices: Iterable[ResourceSlice]) -> str:
    """Return the problem if a device draws from counters that its pool does not have; empty if there is none."""
    for use in (use for one in slices for device in one.spec.devices for use in device.consumes_counters):
        found = sets.get(use.counter_set)
        if found is None:
            return f"counter set {use.counter_set} not found"
        for name in use.counters:
            if name not in found.counters:
                return f"counter {name} not found in counter set {use.counter_set}"
    return ""


def _with_single_names(one: ResourceSlice) -> ResourceSlice:
    """Return a slice whose devices name each attribute and capacity once.

    If a name is there with and without the driver's domain, which is a mistake of the driver, the value with the domain
    counts.
    """
    prefix = f"{one.spec.driver}/"

    def shadowed(names: Iterable[str]) -> list[str]:
        return [name.removeprefix(prefix) for name in names if name.startswith(prefix)]

    if not any(name in v for d in one.spec.devices for v in (d.attributes, d.capacity) for name in shadowed(v)):
        return one

    def single(values: Mapping[str, V]) -> dict[str, V]:
        twice = shadowed(values)
        return {name: value for name, value in values.items() if name not in twice}

    devices = tuple(
        replace(device, attributes=single(device.attributes), capacity=single(device.capacity))
        for device in one.spec.devices
    )
    return replace(one, spec=replace(one.spec, devices=devices))


_encode = msgspec.msgpack.Encoder().encode
#: The typed value of an attribute that cannot be compared.
_NO_VALUE: Final = ("",)


def _typed(attribute: DeviceAttribute, rules: DeviceRules) -> Hashable:
    """Return the value of an attribute as constraints compare it."""
    found = attribute_value(attribute)
    if found is None:
        return _NO_VALUE
    if attribute.version_value is None or found is not attribute.version_value:
        return type(found), found
    if not rules.values_are_parsed:
        return "version", found
    # Few constraints are about versions.
    from kschedctl.scheduler.devices.cel.values import CelError, parse_semver

    try:
        return parse_semver(attribute.version_value)
    except CelError:
        return _NO_VALUE


class NodePools(msgspec.Struct, frozen=True):
    """The pools that each node can use, as pairs of node and pool view."""

    #: The positions in ``view`` at which each node's pools begin.
    start: Int64Array
    #: The numbers of pool views, in search order.
    view: Int64Array


class Inventory:
    """The devices of a cluster under the rules of a release.

    views: The pools as nodes see them, in search order.
    """

    def __init__(self, cluster: Cluster, rules: DeviceRules) -> None:
        self.cluster = cluster
        self.rules = rules
        slices: list[ResourceSlice] = list(cluster.list(ResourceSlice))
        if rules.taint_rules:
            taint_rules = list(cluster.list(DeviceTaintRule))
            slices = with_taint_rules(slices, taint_rules, needs_selector=rules.taint_rules_need_selector)
        if rules.names_have_domains:
            slices = list(map(_with_single_names, slices))
        self.slices = slices
        self.views = gather_pools(slices, cluster.nodes, rules)
        self.devices: list[Device] = [device for one in slices for device in one.spec.devices]
        self.drivers = [one.spec.driver for one in slices for _ in one.spec.devices]
        self.ids = [DeviceID(one.spec.driver, one.spec.pool.name, d.name) for one in slices for d in one.spec.devices]
        counts = np.cumsum([0, *(len(one.spec.devices) for one in slices)])
        self._first = {one.name: int(start) for one, start in zip(slices, counts[:-1], strict=True)}
        self._starts: list[int] = counts[1:].tolist()
        self._columns: dict[Hashable, Int64Array] = {}
        self._selectors: dict[str, Selector] = {}
        self._answers_to: dict[str, tuple[Int64Array, list[str]]] = {}

    def with_claims_of(self, cluster: Cluster) -> "Inventory":
        """Return the inventory for a cluster that differs in claims and pods alone; cached columns are shared."""
        out = copy(self)
        out.cluster = cluster
        for name in ("usage", "in_use", "shares", "reckons_capacity", "view_form"):
            out.__dict__.pop(name, None)
        out._columns = {key: column for key, column in self._columns.items() if key != "shares"}
        return out

    @classmethod
    def of(cls, cluster: Cluster, rules: DeviceRules) -> "Inventory":
        """Return the devices of a cluster, read once until an object that they depend on changes."""
        return cluster.derived(cls, rules, lambda: cls(cluster, rules), of=KINDS)

    @cached_property
    def usage(self) -> Usage:
        """The allocated devices."""
        return gather_usage(self.cluster.list(ResourceClaim), self.rules)

    @cached_property
    def view_devices(self) -> list[Int64Array]:
        """The numbers of each pool view's devices, in search order: int64 arrays."""
        out = []
        for view in self.views:
            ranges = [np.arange(len(one.spec.devices)) + self._first[one.name] for one in view.slices]
            out.append(np.concatenate(ranges).astype(np.int64) if ranges else np.zeros(0, dtype=np.int64))
        return out

    @cached_property
    def view_elsewhere(self) -> list[Mask]:
        """The devices of each pool view that are not for the nodes that see the view: boolean masks."""
        out = []
        for view, devices in zip(self.views, self.view_devices, strict=True):
            mask = np.zeros(len(devices), dtype=np.bool_)
            if view.elsewhere:
                starts = np.cumsum([0, *(len(one.spec.devices) for one in view.slices)])
                mask[[starts[number] + device for number, device in view.elsewhere]] = True
            out.append(mask)
        return out

    def slice_of(self, number: int) -> ResourceSlice:
        """Return the slice that lists a device."""
        return self.slices[bisect_right(self._starts, number)]

    @cached_property
    def node_pools(self) -> NodePools:
        """The pools of every node."""
        rows = [view.rows for view in self.views]
        views = [np.full(len(view.rows), number) for number, view in enumerate(self.views)]
        row = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)
        number = np.concatenate(views).astype(np.int64) if views else np.zeros(0, dtype=np.int64)
        # Views are in search order, which a stable sort preserves.
        order = np.argsort(row, kind="stable")
        counts = np.bincount(row, minlength=len(self.cluster.nodes))
        return NodePools(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), number[order])

    @cached_property
    def view_form(self) -> Int64Array:
        """The codes of pool views by everything but their devices: int64, shape (n_views,).

        Two views with the same code and interchangeable devices give the same result in a search.
        """
        codes: dict[Hashable, int] = {}
        forms = []
        for number, view in enumerate(self.views):
            counters = None
            if self.has_counters and view.counter_sets:
                counters = tuple(sorted(self.available_counters(number).items()))
            form = view.incomplete, bool(view.invalid), self.view_elsewhere[number].tobytes(), counters
            forms.append(codes.setdefault(form, len(codes)))
        return np.array(forms, dtype=np.int64)

    def available_counters(self, number: int) -> dict[CounterName, int]:
        """Return the counters of a pool view minus the draw of the pool's allocated devices, in nano-units."""
        view = self.views[number]
        # The slices for other nodes draw on the same counters.
        others = (self._first[one.name] + i for one in view.others for i in range(len(one.spec.devices)))
        devices = (*self.view_devices[number].tolist(), *others)
        allocated = (self.devices[i] for i in devices if self.usage.allocated(self.ids[i]))
        return available_counters(view.counter_sets or {}, allocated)

    @cached_property
    def has_counters(self) -> bool:
        """True if any device draws from counters."""
        return bool((self.content("consumes_counters") >= 0).any())

    def pools_of(self, row: int) -> list[int]:
        """Return the numbers of the pool views of a node, in search order."""
        pools = self.node_pools
        found: list[int] = pools.view[pools.start[row] : pools.start[row + 1]].tolist()
        return found

    def column(self, key: Hashable, value: Callable[[int], Hashable]) -> Int64Array:
        """Return codes of a value for each device: int64, shape (n_devices,); -1 where the value is ``None``.

        Args:
            value: Returns the value of a device by its number; called once per device. ``_NO_VALUE`` has the code -2.
        """
        found = self._columns.get(key)
        if found is None:
            codes: dict[Hashable, int] = {None: ABSENT, _NO_VALUE: UNSUPPORTED}
            numbers = [codes.setdefault(value(i), len(codes) - 2) for i in range(len(self.devices))]
            found = self._columns[key] = np.array(numbers, dtype=np.int64)
        return found

    def attribute(self, name: str) -> Int64Array:
        """Return codes of an attribute's typed value: int64, shape (n_devices,).

        The code is ``ABSENT`` for a device without the attribute, and ``UNSUPPORTED`` for a value that cannot be
        compared.
        """

        def value(number: int) -> Hashable:
            attribute = lookup_attribute(self.drivers[number], self.devices[number], name)
            return None if attribute is None else _typed(attribute, self.rules)

        return self.column(("attribute", name), value)

    def content(self, field: str) -> Int64Array:
        """Return codes of a field's whole content: int64, shape (n_devices,); -1 where the field is empty."""

        def value(number: int) -> Hashable:
            found = getattr(self.devices[number], field)
            return _encode(found) if found else None

        return self.column(("content", field), value)

    @cached_property
    def reckons_capacity(self) -> Mask:
        """The devices whose capacity matters even to requests for no capacity: bool, shape (n_devices,).

        These are devices that can be shared, that are partly used, or whose capacity has a policy. On any other device,
        a request for no capacity takes the whole capacity.
        """
        policies = [any(c.request_policy is not None for c in device.capacity.values()) for device in self.devices]
        used = [device in self.usage.consumed for device in self.ids] if self.usage.consumed else False
        mask: Mask = np.array(policies, dtype=np.bool_) | np.array(used, dtype=np.bool_)
        return mask | (self.content("allow_multiple_allocations") >= 0)

    @cached_property
    def in_use(self) -> Mask:
        """The devices that are allocated as a whole: bool, shape (n_devices,)."""
        return np.array([device in self.usage.whole for device in self.ids], dtype=np.bool_)

    @cached_property
    def shares(self) -> Int64Array:
        """The codes of the consumption of shared devices: int64, shape (n_devices,); -1 for devices not shared."""

        def value(number: int) -> Hashable:
            device, usage = self.ids[number], self.usage
            if device not in usage.shared:
                return None
            amounts = usage.consumed.get(device)
            return () if amounts is None else tuple(sorted(amounts.items()))

        return self.column("shares", value)

    @property
    def not_modelled(self) -> list[str]:
        """The features of evaluated selectors that are not modelled."""
        return [selector.not_modelled for selector in self._selectors.values() if selector.not_modelled]

    def selector(self, expression: str) -> "Selector":
        """Return the compiled selector of an expression."""
        found = self._selectors.get(expression)
        if found is None:
            # The evaluation of CEL is a third of this package; few clusters have devices.
            from kschedctl.scheduler.devices.selectors import Selector

            found = self._selectors[expression] = Selector(expression, self.rules)
        return found

    def matches(self, selectors: Sequence[DeviceSelector], of: str) -> tuple[Int64Array, list[str]]:
        """Evaluate all selectors of a request or class for every device.

        Args:
            selectors: The selectors; a device must match all of them.
            of: The owner of the selectors, for error messages.

        Returns: verdict: 0 no match, 1 match, above 1 the number of an error; errors: the error texts, from number
            2 on
        """
        verdict = np.ones(len(self.devices), dtype=np.int64)
        errors: list[str] = []
        for i, selector in enumerate(selectors):
            expression = "" if selector.cel is None else selector.cel.expression
            answers, found = self.answers(expression)
            answers = np.where(answers > 1, answers + len(errors), answers)
            errors += [f"{of}: selector #{i}\0{text}" for text in found]
            verdict = np.where(verdict == 1, answers, verdict)
        return verdict, errors

    def answers(self, expression: str) -> tuple[Int64Array, list[str]]:
        """Evaluate an expression for every device.

        The result is 0 for no match, 1 for a match, and from 2 on the number of an error; the errors are returned as
        well.
        """
        known = self._answers_to.get(expression)
        if known is not None:
            return known
        texts: dict[str, int] = {}
        selector = self.selector(expression)
        looks: Sequence[Hashable] = selector.looks(self.drivers, self.devices)
        if self.unreadable:
            looks = [("unreadable", number) if number in self.unreadable else look for number, look in enumerate(looks)]
        first: dict[Hashable, int] = {}
        for number, look in enumerate(looks):
            first.setdefault(look, number)
        answers: dict[Hashable, int] = {}
        for look, number in first.items():
            answer = selector.answer(self.drivers[number], self.devices[number])
            answers[look] = int(answer) if isinstance(answer, bool) else texts.setdefault(answer, len(texts) + 2)
        numbers = np.array([answers[look] for look in looks], dtype=np.int64)
        known = self._answers_to[expression] = numbers, list(texts)
        return known

    @cached_property
    def unreadable(self) -> frozenset[int]:
        """The numbers of the devices with an attribute that has no readable value; each is evaluated by itself.

        Such an attribute fails every selector, whichever fields the selector reads, unless values are parsed.
        """
        if self.rules.values_are_parsed:
            return frozenset()
        from kschedctl.scheduler.devices.selectors import is_readable

        return frozenset(
            number
            for number, device in enumerate(self.devices)
            if any(
                one.string_value is None and one.int_value is None and one.bool_value is None
                for one in device.attributes.values()
            )
            and any(not is_readable(one, self.rules) for one in device.attributes.values())
        )

    def device_class(self, name: str) -> DeviceClass | None:
        return self.cluster.get(DeviceClass, name)


def with_claims(cluster: Cluster, claims: Iterable[ResourceClaim]) -> Cluster:
    """Return a cluster with other claims; cached columns of its inventories are shared."""
    out = cluster.with_objects(ResourceClaim, claims)
    for rules, inventory in cluster.kept(Inventory):
        out.derived(Inventory, rules, partial(inventory.with_claims_of, out), of=KINDS)
    return out
