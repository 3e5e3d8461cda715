"""The pools that each node can use, built from the slices for the node (upstream ``pools_incubating.go``).

A pool differs between nodes, because only slices for the node count. A ``PoolView`` is a pool as some nodes see it;
nodes that see the same slices and devices share a view.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kschedctl.cluster.node_selection import nodes_matching
from kschedctl.cluster.nodes import Nodes
from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.objects.device import CounterSet, DeviceFeatures, ResourceSlice, ResourceSliceSpec
from kschedctl.objects.releases.rules import DeviceRules
from kschedctl.scheduler.devices.usage import PoolID


@dataclass(frozen=True, slots=True)
class PoolView:
    """A pool as some nodes see it.

    Attributes
    ----------
    id : PoolID
        The driver and name of the pool.
    rows : ndarray of int64, shape (n_rows,)
        The rows of the nodes.
    incomplete : bool
        True if slices are missing.
    invalid : str
        The problem that makes the pool invalid; empty if there is none.
    slices : tuple of ResourceSlice
        The slices with devices for these nodes, in search order.
    elsewhere : frozenset of (int, int)
        The devices in these slices that are not for these nodes, as pairs of slice number and device number.
    others : tuple of ResourceSlice
        The other slices of the pool, whose devices draw from the same counters.
    counter_sets : dict of str to CounterSet
        The counter sets of the pool.
    """

    id: PoolID
    rows: Int64Array
    incomplete: bool = False
    invalid: str = ""
    slices: tuple[ResourceSlice, ...] = ()
    elsewhere: frozenset[tuple[int, int]] = frozenset()
    others: tuple[ResourceSlice, ...] = ()
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
    """Return all pools as the nodes see them, in the scheduler's search order.

    Parameters
    ----------
    slices : iterable of ResourceSlice
        All ResourceSlices of the cluster.
    nodes : Nodes
        The nodes of the cluster.
    rules : DeviceRules
        The rules of the release.
    """
    by_pool: dict[PoolID, list[ResourceSlice]] = {}
    for one in slices:
        if rules.hides_compatibility_groups and _has_compatibility_groups(one):
            continue
        by_pool.setdefault(PoolID(one.spec.driver, one.spec.pool.name), []).append(one)
    views = [view for pool, found in sorted(by_pool.items()) for view in _views(pool, found, nodes, rules)]
    return sorted(views, key=lambda view: view.has_binding_conditions)


def _views(pool: PoolID, slices: list[ResourceSlice], nodes: Nodes, rules: DeviceRules) -> Iterator[PoolView]:
    slices = sorted(slices, key=lambda one: one.name)
    for rows, seen, elsewhere in _seen(slices, nodes, rules):
        newest = max(slices[i].spec.pool.generation for i in seen)
        view = _view(
            pool,
            rows,
            [slices[i] for i in seen if slices[i].spec.pool.generation == newest],
            slices,
            rules,
        )
        if view is None:
            continue
        names = {slices[i].name: i for i in seen}
        flagged = frozenset(
            (number, device)
            for number, one in enumerate(view.slices)
            for device in range(len(one.spec.devices))
            if (names[one.name], device) in elsewhere
        )
        yield PoolView(pool, rows, view.incomplete, view.invalid, view.slices, flagged, view.others, view.counter_sets)


def _seen(
    slices: Sequence[ResourceSlice], nodes: Nodes, rules: DeviceRules
) -> Iterator[tuple[Int64Array, list[int], frozenset[tuple[int, int]]]]:
    """Yield groups of nodes, the slices for them, and the devices in these slices that are not for them."""
    local: dict[int, list[int]] = {}
    shared: list[tuple[tuple[int, int], Mask]] = []
    for i, one in enumerate(slices):
        if _is_left_out(one, rules):
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
        yield -1, _reach(spec, nodes)
    elif spec.per_device_node_selection:
        masks = [_reach(device, nodes) for device in spec.devices]
        yield -1, np.any(masks, axis=0) if masks else np.zeros(len(nodes), dtype=np.bool_)
        yield from enumerate(masks)


def _has_compatibility_groups(one: ResourceSlice) -> bool:
    return any(use.compatibility_groups for device in one.spec.devices for use in device.consumes_counters)


def _is_left_out(one: ResourceSlice, rules: DeviceRules) -> bool:
    """Report whether a release ignores a slice."""
    if rules.partitionable:
        return False
    return one.spec.per_device_node_selection is not None or (
        bool(one.spec.shared_counters) and not rules.counter_slices_count
    )


def _reach(of: DeviceFeatures | object, nodes: Nodes) -> Mask:
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
        names = {one.name for one in seen}
        others = [one for one in current if one.name not in names]
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
