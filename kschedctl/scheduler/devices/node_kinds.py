"""Kinds of nodes that a search does not distinguish: one search gives the result for all nodes of a kind."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kschedctl.common.arrays import Int64Array
from kschedctl.scheduler.devices.inventory import Inventory


def device_kinds(columns: Iterable[Int64Array], n_devices: int) -> Int64Array:
    """Assign a kind to each device by the columns that influence a search.

    Parameters
    ----------
    columns : iterable of ndarray of int64, shape (n_devices,)
        The codes of the devices, from -1 on.
    n_devices : int
        The number of devices.

    Returns
    -------
    ndarray of int64, shape (n_devices,)
        The kind of each device: the same number for devices with equal codes in all columns.

    Examples
    --------
    >>> device_kinds([np.array([0, 1, 0]), np.array([-1, -1, 4])], 3)
    array([0, 2, 1])
    """
    kinds = np.zeros(n_devices, dtype=np.int64)
    for column in columns:
        if not n_devices or (column == column[0]).all():
            continue
        kinds = kinds * (int(column.max()) + 2) + column + 1
        kinds = np.unique(kinds, return_inverse=True)[1].astype(np.int64)
    return kinds


def node_kinds(inventory: Inventory, kinds: Int64Array, rows: Int64Array) -> Int64Array:
    """Assign a kind to each node by the pools and devices that it can use, in search order.

    Parameters
    ----------
    inventory : Inventory
        All devices of the cluster.
    kinds : ndarray of int64, shape (n_devices,)
        The kind of each device, from ``device_kinds``.
    rows : ndarray of int64, shape (n_rows,)
        The rows of the nodes.

    Returns
    -------
    ndarray of int64, shape (n_rows,)
        The kind of each node: the same number for nodes that a search does not distinguish.
    """
    views = _view_kinds(inventory, kinds)
    pools = inventory.node_pools
    length = pools.start[rows + 1] - pools.start[rows]
    out = np.zeros(len(rows), dtype=np.int64)
    n_kinds = 0
    for n_pools in np.unique(length).tolist():
        at = np.flatnonzero(length == n_pools)
        pairs = pools.start[rows[at]][:, np.newaxis] + np.arange(n_pools)
        matrix = views[pools.view[pairs]]
        if inventory.has_counters and not inventory.rules.counters_by_driver:
            matrix = np.hstack([matrix, _same_names(inventory, pools.view[pairs])])
        number = _number_rows(matrix)
        out[at] = number + n_kinds
        n_kinds += int(number.max(initial=0)) + 1
    return out


def _view_kinds(inventory: Inventory, kinds: Int64Array) -> Int64Array:
    """Assign a kind to each pool view by its devices and its form: int64, shape (n_views,)."""
    devices = inventory.view_devices
    length = np.array([len(found) for found in devices], dtype=np.int64)
    out = np.zeros(len(devices), dtype=np.int64)
    n_kinds = 0
    for n_devices in np.unique(length).tolist():
        at = np.flatnonzero(length == n_devices)
        matrix = np.stack([devices[number] for number in at.tolist()])
        number = _number_rows(np.hstack([kinds[matrix], inventory.view_form[at][:, np.newaxis]]))
        out[at] = number + n_kinds
        n_kinds += int(number.max(initial=0)) + 1
    return out


def _same_names(inventory: Inventory, views: Int64Array) -> Int64Array:
    """Return, for each pool of a node, the position of the node's first pool with the same name; shape of ``views``."""
    codes: dict[str, int] = {}
    names = np.array([codes.setdefault(view.id.pool, len(codes)) for view in inventory.views], dtype=np.int64)
    found = names[views]
    return np.argmax(found[:, :, np.newaxis] == found[:, np.newaxis, :], axis=2) if found.shape[1] else found


def _number_rows(matrix: Int64Array) -> Int64Array:
    """Assign equal numbers to equal rows of a matrix: int64, shape (n_rows,)."""
    if not matrix.shape[1]:
        return np.zeros(len(matrix), dtype=np.int64)
    return device_kinds([column - column.min() for column in matrix.T], len(matrix))
