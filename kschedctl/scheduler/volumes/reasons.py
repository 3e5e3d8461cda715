"""The operands behind the reasons of VolumeBinding: the details of why a claim has no volume on a node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kschedctl.common.wording import show_labels
from kschedctl.objects.selectors import Selector
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.remedy import Remedy, RemedyContext
from kschedctl.scheduler.volumes.matching import show_storage
from kschedctl.scheduler.volumes.remedies import claim_remedies, elsewhere_remedies


def show_terms(terms: tuple[Selector, ...]) -> str:
    """Return alternative terms as text.

    Parameters
    ----------
    terms : tuple of Selector
        The terms, of which one must hold; all requirements of a term must hold.
    """
    return " or ".join(" and ".join(map(str, term)) for term in terms)


class ClaimReason(Operands, frozen=True):
    """A reason for rejection that concerns one claim.

    Attributes
    ----------
    claim : str
        The name of the claim, in the pod's namespace.
    """

    claim: str

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to use another claim."""
        return claim_remedies(context, self.claim)


class VolumeReason(ClaimReason, frozen=True):
    """A reason for rejection that concerns the volume a claim is bound to.

    Attributes
    ----------
    volume : str
        The name of the volume.
    """

    volume: str

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to move the volume to the node, or to use another claim."""
        return elsewhere_remedies(context, self.claim, self.volume)


class VolumeMissing(VolumeReason, frozen=True):
    """The claim's volume does not exist."""

    def words(self) -> str:
        """Return the claim and the missing volume as text."""
        return f"claim {self.claim} is bound to volume {self.volume}, which does not exist"


class VolumeNotTranslated(VolumeReason, frozen=True):
    """The claim's volume cannot be translated to its CSI driver.

    Attributes
    ----------
    problem : str
        The problem, in the words of the translation library.
    """

    problem: str

    def words(self) -> str:
        """Return the claim and its problem as text."""
        return f"claim {self.claim}: {self.problem}"

    def data(self) -> dict[str, Any]:
        """Return the claim and its volume."""
        return {"claim": self.claim, "volume": self.volume}


class VolumeForNoNode(VolumeReason, frozen=True):
    """No node can match the node affinity of the claim's volume."""

    def words(self) -> str:
        """Return the claim and its volume as text."""
        return f"claim {self.claim} is on volume {self.volume}, whose node affinity matches no node"


class VolumeForOtherNodes(VolumeReason, frozen=True):
    """The claim's volume is for nodes with other labels.

    Attributes
    ----------
    wanted : tuple of Selector
        The requirements that the node does not meet, for each term of the volume's node affinity.
    labels : dict of str to str or None
        The node's values of the labels in ``wanted``; ``None`` for a label that the node lacks.
    """

    wanted: tuple[Selector, ...]
    labels: dict[str, str | None]

    def words(self) -> str:
        """Return the required and the node's labels as text."""
        wanted, has = show_terms(self.wanted), show_labels(self.labels)
        return f"claim {self.claim} is on volume {self.volume}, which is for {wanted}; the node has {has}"

    def data(self) -> dict[str, Any]:
        """Return the claim and volume, with terms and labels as text."""
        wanted, has = show_terms(self.wanted), show_labels(self.labels)
        return {"claim": self.claim, "volume": self.volume, "wanted": wanted, "node": has}


class ProvisionedElsewhere(ClaimReason, frozen=True):
    """The claim is being provisioned for another node.

    Attributes
    ----------
    selected_node : str
        The node for which the claim is being provisioned.
    """

    selected_node: str

    def words(self) -> str:
        """Return the claim and its selected node as text."""
        return f"claim {self.claim} is being provisioned for node {self.selected_node}"


class NotProvisioned(ClaimReason, frozen=True):
    """The claim finds no volume, and its class does not provision.

    Attributes
    ----------
    storage_class : str
        The StorageClass of the claim.
    volumes : int
        The number of volumes in the cluster that match the claim, including taken and unreachable ones.
    """

    storage_class: str
    volumes: int

    def words(self) -> str:
        """Return the claim, whether any volume matches it, and the class as text."""
        volumes = "no volume that matches it is free and reachable" if self.volumes else "no volume matches it"
        return f"claim {self.claim}: {volumes}, and class {self.storage_class} does not provision"


class ProvisionedForOtherNodes(ClaimReason, frozen=True):
    """The claim's class provisions only in other topologies.

    Attributes
    ----------
    storage_class : str
        The StorageClass of the claim.
    wanted : tuple of Selector
        The ``allowedTopologies`` of the class.
    labels : dict of str to str or None
        The node's values of the labels in ``wanted``; ``None`` for a label that the node lacks.
    """

    storage_class: str
    wanted: tuple[Selector, ...]
    labels: dict[str, str | None]

    def words(self) -> str:
        """Return the topologies of the class and the node's labels as text."""
        wanted, has = show_terms(self.wanted), show_labels(self.labels)
        return f"claim {self.claim}: class {self.storage_class} provisions only for {wanted}; the node has {has}"

    def data(self) -> dict[str, Any]:
        """Return the claim and class, with topologies and labels as text."""
        wanted, has = show_terms(self.wanted), show_labels(self.labels)
        return {"claim": self.claim, "storageClass": self.storage_class, "wanted": wanted, "node": has}


class NotEnoughStorage(ClaimReason, frozen=True):
    """The claim is larger than any volume that can be provisioned for the node.

    Attributes
    ----------
    storage_class : str
        The StorageClass that would provision the volume.
    wanted_nanos : int
        The size of the claim, in nano-bytes.
    largest_nanos : int or None
        The size of the largest volume that can be provisioned, in nano-bytes; ``None`` if none can be.
    """

    storage_class: str
    wanted_nanos: int
    largest_nanos: int | None

    @property
    def largest(self) -> str:
        """The size of the largest volume that can be provisioned, as text."""
        return show_storage(self.largest_nanos) if self.largest_nanos is not None else "none"

    def words(self) -> str:
        """Return the size of the claim and the largest size as text."""
        wanted = show_storage(self.wanted_nanos)
        return f"claim {self.claim} wants {wanted}, the largest volume that can be provisioned here is {self.largest}"

    def data(self) -> dict[str, Any]:
        """Return the claim and class, with both sizes in human-readable form."""
        return {
            "claim": self.claim,
            "storageClass": self.storage_class,
            "wanted": show_storage(self.wanted_nanos),
            "largest": self.largest,
        }
