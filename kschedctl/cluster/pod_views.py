"""The pods of a list one by one: their records, and where one of a name is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, overload

import numpy as np

from kschedctl.cluster.records import PodRecord
from kschedctl.cluster.slots import PodName

if TYPE_CHECKING:
    from kschedctl.cluster.pods import Pods


class PodRecords(Sequence[PodRecord]):
    """The records of some pods, in their order."""

    def __init__(self, pods: Pods) -> None:
        self._pods = pods
        self._slots = pods.mark.slots

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
        mark = self._pods.mark
        if len(mark.empty):
            index = int(self._pods.slots_of(np.array([index], dtype=np.int64))[0])
        return self._slots.record(index)

    def __iter__(self) -> Iterator[PodRecord]:
        mark = self._pods.mark
        records = self._slots.records(mark.end)
        if not len(mark.empty):
            return iter(records)
        return map(records.__getitem__, self._pods.slots.tolist())


class PodIndex(Mapping[PodName, int]):
    """The index of a pod by namespace and name."""

    def __init__(self, pods: Pods) -> None:
        self._pods = pods

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[PodName]:
        return (record.name for record in self._pods.records)

    def __getitem__(self, name: PodName) -> int:
        mark = self._pods.mark
        slot = mark.slots.slot_of(name, mark.end)
        if slot is None:
            raise KeyError(name)
        before = int(np.searchsorted(mark.empty, slot))
        if before < len(mark.empty) and mark.empty[before] == slot:
            raise KeyError(name)
        return slot - before
