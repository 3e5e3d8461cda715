"""The operands behind the reasons of VolumeBinding: why a claim has no volume on a node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kschedctl.api.selectors import Selector
from kschedctl.api.wording import show_labels
from kschedctl.framework.operands import Operands
from kschedctl.framework.remedy import Remedy, RemedyContext
from kschedctl.volumes.matching import show_storage
from kschedctl.volumes.remedies import claim_remedies, elsewhere_remedies


def show_terms(terms: tuple[Selector, ...]) -> str:
    """Terms of which one must hold, as text.

    Parameters
    ----------
    terms : tuple of Selector
        The terms; of each every requirement must hold.
    """
    return " or ".join(" and ".join(map(str, term)) for term in terms)


class ClaimReason(Operands, frozen=True):
    """Why one claim stands in the way.

    Attributes
    ----------
    claim : str
        The claim, in the pod's namespace.
    """

    claim: str

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Use another claim."""
        return claim_remedies(context, self.claim)


class VolumeReason(ClaimReason, frozen=True):
    """Why the volume that a claim is bound to stands in the way.

    Attributes
    ----------
    volume : str
        The volume.
    """

    volume: str

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Have the volume where the node is, or use another claim."""
        return elsewhere_remedies(context, self.claim, self.volume)


class VolumeMissing(VolumeReason, frozen=True):
    """The claim's volume does not exist."""

    def words(self) -> str:
        """Which volume."""
        return f"claim {self.claim} is bound to volume {self.volume}, which does not exist"


class VolumeNotTranslated(VolumeReason, frozen=True):
    """The claim's volume cannot be translated to its CSI driver.

    Attributes
    ----------
    problem : str
        Why not, in the words of the translation.
    """

    problem: str

    def words(self) -> str:
        """The claim and its problem."""
        return f"claim {self.claim}: {self.problem}"

    def data(self) -> dict[str, Any]:
        """The claim and its volume."""
        return {"claim": self.claim, "volume": self.volume}


class VolumeForNoNode(VolumeReason, frozen=True):
    """The claim's volume has a node affinity that no node can match."""

    def words(self) -> str:
        """Which volume."""
        return f"claim {self.claim} is on volume {self.volume}, whose node affinity matches no node"


class VolumeForOtherNodes(VolumeReason, frozen=True):
    """The claim's volume is for nodes with other labels.

    Attributes
    ----------
    wanted : tuple of Selector
        Of every term of the volume's node affinity the requirements that the node does not meet.
    labels : dict of str to str or None
        The node's values of the labels in ``wanted``; ``None`` where it has no such label.
    """

    wanted: tuple[Selector, ...]
    labels: dict[str, str | None]

    def words(self) -> str:
        """Whom the volume is for, and what the node has."""
        wanted, has = show_terms(self.wanted), show_labels(self.labels)
        return f"claim {self.claim} is on volume {self.volume}, which is for {wanted}; the node has {has}"

    def data(self) -> dict[str, Any]:
        """Terms and labels as texts."""
        wanted, has = show_terms(self.wanted), show_labels(self.labels)
        return {"claim": self.claim, "volume": self.volume, "wanted": wanted, "node": has}


class ProvisionedElsewhere(ClaimReason, frozen=True):
    """The claim is being provisioned for another node.

    Attributes
    ----------
    selected_node : str
        That node.
    """

    selected_node: str

    def words(self) -> str:
        """For which node."""
        return f"claim {self.claim} is being provisioned for node {self.selected_node}"


class NotProvisioned(ClaimReason, frozen=True):
    """The claim finds no volume, and its class does not provision.

    Attributes
    ----------
    storage_class : str
        The class.
    volumes : int
        How many volumes of the cluster would suit the claim, taken or out of reach.
    """

    storage_class: str
    volumes: int

    def words(self) -> str:
        """Whether there is a volume at all, and the class."""
        volumes = "no volume that suits it is free within reach" if self.volumes else "no volume suits it"
        return f"claim {self.claim}: {volumes}, and class {self.storage_class} does not provision"


class ProvisionedForOtherNodes(ClaimReason, frozen=True):
    """The claim's class provisions only in other topologies.

    Attributes
    ----------
    storage_class : str
        The class.
    wanted : tuple of Selector
        Its ``allowedTopologies``.
    labels : dict of str to str or None
        The node's values of the labels in ``wanted``; ``None`` where it has no such label.
    """

    storage_class: str
    wanted: tuple[Selector, ...]
    labels: dict[str, str | None]

    def words(self) -> str:
        """Where the class provisions, and what the node has."""
        wanted, has = show_terms(self.wanted), show_labels(self.labels)
        return f"claim {self.claim}: class {self.storage_class} provisions only for {wanted}; the node has {has}"

    def data(self) -> dict[str, Any]:
        """Topologies and labels as texts."""
        wanted, has = show_terms(self.wanted), show_labels(self.labels)
        return {"claim": self.claim, "storageClass": self.storage_class, "wanted": wanted, "node": has}


class NotEnoughStorage(ClaimReason, frozen=True):
    """The claim is larger than the volumes that can be made for the node.

    Attributes
    ----------
    storage_class : str
        The class that would make one.
    wanted_nanos : int
        The size of the claim in nano-bytes.
    largest_nanos : int or None
        The largest volume that can be made in nano-bytes; ``None`` where none can be made.
    """

    storage_class: str
    wanted_nanos: int
    largest_nanos: int | None

    @property
    def largest(self) -> str:
        """The largest volume that can be made, as text."""
        return show_storage(self.largest_nanos) if self.largest_nanos is not None else "none"

    def words(self) -> str:
        """Both sizes."""
        wanted = show_storage(self.wanted_nanos)
        return f"claim {self.claim} wants {wanted}, the largest volume that can be made here is {self.largest}"

    def data(self) -> dict[str, Any]:
        """Both sizes as people read them."""
        return {
            "claim": self.claim,
            "storageClass": self.storage_class,
            "wanted": show_storage(self.wanted_nanos),
            "largest": self.largest,
        }
