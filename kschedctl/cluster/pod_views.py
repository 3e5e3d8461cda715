"""Sequence and mapping views of a list of pods: records by index, and indices by pod name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import overload

import numpy as np

from kschedctl.cluster.records import PodRecord
from kschedctl.cluster.slots import Mark, PodName


class PodRecords(Sequence[PodRecord]):
    """A sequence of the pods' records, in order."""

    def __init__(self, pods: Mark) -> None:
        self._pods = pods

    def __len__(self) -> int:
        return len(self._pods)

    @overload
    def __getitem__(self, index: int) -> PodRecord: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[PodRecord]: ...

    def __getitem__(self, index: int | slice) -> PodRecord | Sequence[PodRecord]:
        if isinstance(index, slice):
            return tuple(self)[index]
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self._pods.slots.record(self._pods.slot_of(index))

    def __iter__(self) -> Iterator[PodRecord]:
        records = self._pods.slots.records(self._pods.end)
        if not len(self._pods.empty):
            return iter(records)
        return map(records.__getitem__, self._pods.own_slots().tolist())


class PodIndex(Mapping[PodName, int]):
    """A mapping from namespace and name to the index of a pod."""

    def __init__(self, pods: Mark) -> None:
        self._pods = pods

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[PodName]:
        return (record.name for record in PodRecords(self._pods))

    def __getitem__(self, name: PodName) -> int:
        pods = self._pods
        slot = pods.slots.slot_of(name, pods.end)
        if slot is None:
            raise KeyError(name)
        before = int(np.searchsorted(pods.empty, slot))
        if before < len(pods.empty) and pods.empty[before] == slot:
            raise KeyError(name)
        return slot - before
