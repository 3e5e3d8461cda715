"""The checks of VolumeBinding on a node, one or more per claim."""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.common.wording import show_labels
from kschedctl.objects.core import Node
from kschedctl.objects.selectors import Selector
from kschedctl.objects.volume import PersistentVolume
from kschedctl.scheduler.framework.filter_check import FilterCheck
from kschedctl.scheduler.volumes.binder import Binder
from kschedctl.scheduler.volumes.binder_results import FoundVolumes
from kschedctl.scheduler.volumes.claims import required_affinity
from kschedctl.scheduler.volumes.explain import explain_bound, explain_space, explain_unbound, failing_provision
from kschedctl.scheduler.volumes.topology import label_terms


def explain_claims(binder: Binder, found: FoundVolumes, node: Node, row: int) -> tuple[FilterCheck, ...]:
    """Return the checks of a pod's claims on a node.

    Parameters
    ----------
    binder : Binder
        The binder that found the volumes.
    found : FoundVolumes
        The volumes that the binder found.
    node : Node
        The node.
    row : int
        The row of the node.
    """
    return (*_bound(binder, found, node, row), *_matched(found, row), *_unmatched(binder, found, node, row))


def _bound(binder: Binder, found: FoundVolumes, node: Node, row: int) -> Iterator[FilterCheck]:
    for bound in found.bound:
        wanted = f"claim {bound.claim.name}"
        if not bound.reachable[row]:
            yield FilterCheck(wanted, explain_bound(binder, bound, node, row).words(), False)
        elif bound.volume is not None:
            yield FilterCheck(
                f"{wanted} on {bound.volume.name}: {_topology(bound.volume)}", _has(bound.volume, node), True
            )


def _matched(found: FoundVolumes, row: int) -> Iterator[FilterCheck]:
    for match in found.matches:
        if match.choice[row] >= 0:
            volume = match.candidates[match.choice[row]]
            told = f"takes {volume.name}, the first of {len(match.candidates)} that match it"
            yield FilterCheck(f"claim {match.claim.name}", told, True)


def _unmatched(binder: Binder, found: FoundVolumes, node: Node, row: int) -> Iterator[FilterCheck]:
    if found.error[row] >= 0:
        yield FilterCheck("claims", found.errors[int(found.error[row])], False)
    elif found.bind_conflict[row]:
        yield FilterCheck("unbound claims", explain_unbound(found, node, row).words(), False)
    elif found.not_enough_space[row]:
        said = explain_space(binder.cluster, binder, failing_provision(found, row), row)
        yield FilterCheck("unbound claims", said.words(), False)
    else:
        for check in found.provisions:
            if check.needed[row]:
                told = f"class {check.provisioning.storage_class.name} provisions a volume there"
                yield FilterCheck(f"claim {check.claim.name}", told, True)


def _terms(volume: PersistentVolume) -> tuple[Selector, ...]:
    affinity = required_affinity(volume)
    return () if affinity is None else tuple(label_terms(affinity))


def _topology(volume: PersistentVolume) -> str:
    """Return the node labels required by a volume, as text."""
    terms = [", ".join(map(str, term)) for term in _terms(volume)]
    return " or ".join(dict.fromkeys(terms)) or "any node"


def _has(volume: PersistentVolume, node: Node) -> str:
    """Return the node's values of the labels required by a volume, as text."""
    keys = {requirement.key: None for term in _terms(volume) for requirement in term}
    has = {key: node.metadata.labels.get(key) for key in keys}
    return f"node has {show_labels(has)}" if has else "the volume is reachable"
