"""The Score of VolumeBinding: utilization of the storage that the pod's claims would get (``buildScorerFunction``).

Per storage class the utilization, requested capacity / available capacity, is mapped to a score by the profile's
``shape``. A node's score is the mean over the storage classes, rounded half away from zero in float64. If a claim found
an existing volume on the node, only such claims count, with the capacity of their volumes. Otherwise the claims count
whose volume would be provisioned by a driver that publishes its capacity.
"""

from collections.abc import Iterator
from functools import partial

import msgspec
import numpy as np

from kschedctl.common.arrays import Int64Array, Mask, round_half_away
from kschedctl.objects.quantity import value
from kschedctl.objects.resources import EPHEMERAL_STORAGE, format_amount
from kschedctl.scheduler.framework.cycle_state import NotModelled
from kschedctl.scheduler.framework.explanation import Arithmetic, Step, sum_expression
from kschedctl.scheduler.plugins.node_resources.scoring import Kernel, ratio_steps
from kschedctl.scheduler.volumes.binder import FoundVolumes, ProvisionCheck, StaticMatch
from kschedctl.scheduler.volumes.claims import claim_key, requested_storage, storage_capacity


class ClassTotals:
    """The requested and the available capacity per storage class and node.

    requested: Bytes by class.
    capacity: Bytes by class.
    counts: By class: True if the class counts on the node.
    """

    def __init__(self, n_nodes: int, *, exact_sizes: bool) -> None:
        self._n_nodes = n_nodes
        self._bytes = partial(value, saturate=exact_sizes)
        self.requested: dict[str, Int64Array] = {}
        self.capacity: dict[str, Int64Array] = {}
        self.counts: dict[str, Mask] = {}

    def add_existing(self, match: StaticMatch) -> None:
        """Count the existing volume that a claim would get on each node."""
        names = [volume.spec.storage_class_name for volume in match.candidates]
        # Choice -1 (no volume) picks the last entry.
        sizes = np.array([*(self._bytes(storage_capacity(each)) for each in match.candidates), 0], dtype=np.int64)
        requested = self._bytes(requested_storage(match.claim) or 0)
        for name in dict.fromkeys(names):
            here = np.array([*(other == name for other in names), False], dtype=np.bool_)[match.choice]
            self._class(name, here)
            self.requested[name][here] += requested
            self.capacity[name] += np.where(here, sizes[match.choice], 0)

    def add_provisioned(self, check: ProvisionCheck, here: Mask) -> None:
        """Count a claim that is provisioned on some nodes; all claims of a class share one capacity."""
        name = check.claim.spec.storage_class_name or ""
        self._class(name, here)
        self.requested[name][here] += self._bytes(requested_storage(check.claim) or 0)
        self.capacity[name][here] = check.provisioning.available[here]

    def _class(self, name: str, here: Mask) -> None:
        if name not in self.counts:
            self.counts[name] = np.zeros(self._n_nodes, dtype=np.bool_)
            self.requested[name] = np.zeros(self._n_nodes, dtype=np.int64)
            self.capacity[name] = np.zeros(self._n_nodes, dtype=np.int64)
        self.counts[name] |= here

    def scores(self, kernel: Kernel) -> Int64Array:
        """Return the mean of the classes' scores, 0 if no class counts: int64, shape (n_nodes,)."""
        total = np.zeros(self._n_nodes, dtype=np.int64)
        n_classes = np.zeros(self._n_nodes, dtype=np.int64)
        for name, counts in self.counts.items():
            total += np.where(counts, kernel(self.requested[name], self.capacity[name]), 0)
            n_classes += counts
        return round_half_away(total / np.maximum(n_classes, 1))


def storage_capacity_scores(found: FoundVolumes, kernel: Kernel) -> Int64Array:
    """Score every node by the storage that a pod's claims would get there.

    Args:
        found: The volumes that the binder found. The scores of nodes that the binder rejected are meaningless.
        kernel: Returns the score of one class, 0 to 100, from the requested and the available capacity.

    Raises SnapshotError if a size is not a quantity.
    """
    return _totals(found).scores(kernel)


def _totals(found: FoundVolumes) -> ClassTotals:
    totals = ClassTotals(len(found.error), exact_sizes=found.exact_sizes)
    for match in found.matches:
        totals.add_existing(match)
    for check, here in _measured(found):
        totals.add_provisioned(check, here)
    return totals


def _measured(found: FoundVolumes) -> Iterator[tuple[ProvisionCheck, Mask]]:
    """Yield the claims to provision, each with the nodes without existing volumes on which the capacity is known."""
    existing = np.zeros(len(found.error), dtype=np.bool_)
    for match in found.matches:
        existing |= match.choice >= 0
    for check in found.provisions:
        yield check, check.needed & ~existing & check.provisioning.measured


def scoring_caveats(found: FoundVolumes, rows: Int64Array) -> Iterator[NotModelled]:
    """Yield the storage over which kube-scheduler crashes, or for which it picks a random capacity.

    Args:
        rows: The rows of the scored nodes.
    """
    for check, here in _measured(found):
        provisioning, claim = check.provisioning, claim_key(check.claim)
        if (here & provisioning.capacity_unsaid)[rows].any():
            feature = f"VolumeBinding's score of claim {claim}, whose CSIStorageCapacity has no capacity"
            yield NotModelled(feature, "kube-scheduler crashes here")
        if check.claim.spec.storage_class_name is None and here[rows].any():
            feature = f"VolumeBinding's score of claim {claim}, whose class is in an annotation"
            yield NotModelled(feature, "kube-scheduler crashes here")
        if (here & provisioning.several)[rows].any():
            feature = f"VolumeBinding's score of claim {claim}, for which several CSIStorageCapacities are large enough"
            yield NotModelled(feature, "kube-scheduler uses any of them, the answer the first in the snapshot")


class ScoredClass(msgspec.Struct, frozen=True, rename="camel"):
    """A storage class that counts on a node."""

    #: The class.
    name: str
    #: The capacity requested by the pod's claims, in bytes.
    requested: int
    #: The available capacity, in bytes.
    capacity: int
    #: The shape's score at this utilization, 0 to 100.
    score: int


class StorageScore(Arithmetic, frozen=True):
    """The score of VolumeBinding."""

    #: The storage classes that count.
    classes: tuple[ScoredClass, ...]
    #: The points of the piecewise linear function: utilization in percent, and score from 0 to 100.
    shape: tuple[tuple[int, int], ...]
    #: The mean of the classes' scores.
    score: int

    def formula(self) -> str:
        return "per storage class the shape's score at 100 * requested // capacity; the mean, rounded"

    def steps(self) -> Iterator[Step]:
        for one in self.classes:
            requested, capacity = (format_amount(EPHEMERAL_STORAGE, n) for n in (one.requested, one.capacity))
            note = f"claims request {requested} of {capacity}"
            yield from ratio_steps(
                f"class {one.name}", one.requested, one.capacity, self.shape, one.score, note, exact=False
            )
        if not self.classes:
            yield Step("score", "0", 0, "no claim takes a volume whose size counts")
            return
        total = sum_expression(str(one.score) for one in self.classes)
        yield Step("score", f"round(({total}) / {len(self.classes)})", self.score)


def explain_scores(
    found: FoundVolumes | None, shape: tuple[tuple[int, int], ...], kernel: Kernel, row: int
) -> StorageScore:
    """Return the arithmetic of a node's score.

    Args:
        found: The volumes that the binder found; ``None`` if nothing is scored.
        kernel: As for ``storage_capacity_scores``.
    """
    if found is None:
        return StorageScore((), shape, 0)
    totals = _totals(found)
    classes = tuple(
        ScoredClass(
            name,
            int(totals.requested[name][row]),
            int(totals.capacity[name][row]),
            int(kernel(totals.requested[name][row : row + 1], totals.capacity[name][row : row + 1])[0]),
        )
        for name, counts in totals.counts.items()
        if counts[row]
    )
    return StorageScore(classes, shape, int(totals.scores(kernel)[row]))
