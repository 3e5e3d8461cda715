"""NodeClaims that a round opens: whether one can take another pod, and what is left of it then (S/nodeclaim.go)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import numpy as np
from msgspec.structs import replace

from kschedctl.autoscaler.instance_types import (
    RESERVED,
    WELL_KNOWN,
    Amounts,
    InstanceType,
    Offering,
    TypeMask,
    is_offered,
)
from kschedctl.autoscaler.karpenter.daemons import DaemonGroup
from kschedctl.autoscaler.karpenter.pods import HostPort, Stage, WaitingPod, untolerated
from kschedctl.autoscaler.karpenter.pools import Pool, unmet_min_values
from kschedctl.autoscaler.karpenter.topology import Topology
from kschedctl.autoscaler.karpenter.volumes import Attachments
from kschedctl.autoscaler.requirements import (
    Requirements,
    added,
    are_compatible,
    conflict,
    incompatibility,
    requirement,
    requirements_text,
)
from kschedctl.objects.quantity import NANO, Amount, QuantityFormat
from kschedctl.objects.selectors import IN
from kschedctl.objects.well_known import HOSTNAME

_TYPO: Final = 10**6 * NANO


class Obstacle(StrEnum):
    """The check at which a NodePool refuses a pod."""

    NODE_LIMIT = "node limit"
    LIMIT = "limit"
    TAINTS = "taints"
    VOLUME_LIMIT = "volume limit"
    REQUIREMENTS = "requirements"
    PLACES = "places of volumes"
    TOPOLOGY = "topology"
    MIN_VALUES = "minValues"
    TYPES = "instance types"
    #: May be gone in the next round, so that the pod gives up none of its preferences for it.
    RESERVATION = "reservation"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A pool or a claim that cannot take a pod."""

    obstacle: Obstacle
    #: Karpenter's words; those for an open claim are never shown, and empty.
    text: str = ""
    #: The requirements of the node and of the pod, or of its volume.
    known: Requirements = field(default_factory=dict)
    wanted: Requirements = field(default_factory=dict)
    #: True each if an instance type meets the requirements, fits, and has an offering.
    found: tuple[bool, bool, bool] = (True, True, True)


class Reservations:
    """The instances of capacity reservations that are left, and the claims that hold some of them."""

    def __init__(self, types: Iterable[InstanceType]) -> None:
        self._left: dict[str, int] = {}
        self._held: dict[str, set[str]] = {}
        for each in types:
            for offering in each.offerings:
                if offering.capacity_type == RESERVED:
                    known = self._left.get(offering.reservation_id, offering.reservation_capacity)
                    self._left[offering.reservation_id] = min(known, offering.reservation_capacity)

    def can_reserve(self, host: str, reservation: str) -> bool:
        """Report whether a claim holds an instance of a reservation, or can get one."""
        return reservation in self._held.get(host, ()) or self._left[reservation] > 0

    def hold(self, host: str, reservations: set[str]) -> None:
        """Give a claim an instance of each of some reservations, and take those of others from it."""
        held = self._held.setdefault(host, set())
        for each in held - reservations:
            self._left[each] += 1
        for each in reservations - held:
            self._left[each] -= 1
        self._held[host] = set(reservations)


@dataclass(frozen=True, eq=False)
class Fit:
    """The state of a claim once it has a pod."""

    requirements: Requirements
    types: TypeMask
    requests: Amounts
    reservations: list[Offering] = field(default_factory=list)


@dataclass(eq=False)
class Claim:
    """A node that the round opens, and the pods that it is for."""

    number: int
    pool: Pool
    daemons: Sequence[DaemonGroup]
    requirements: Requirements
    types: TypeMask
    requests: Amounts
    pods: list[WaitingPod] = field(default_factory=list)
    volumes: Attachments = field(default_factory=dict)
    ports: list[tuple[str, HostPort]] = field(default_factory=list)
    reservations: list[Offering] = field(default_factory=list)
    min_values_relaxed: bool = False
    #: The stages that it cannot take any more, since its room only shrinks.
    refused: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, pool: Pool, number: int, daemons: Sequence[DaemonGroup], types: TypeMask) -> "Claim":
        host = requirement(HOSTNAME, IN, (f"hostname-placeholder-{number:04d}",))
        nothing = np.zeros(pool.types.allocatable.shape[1], dtype=np.int64)
        return cls(number, pool, daemons, added(pool.requirements, (host,)), types, nothing)

    @property
    def host(self) -> str:
        """Its placeholder for the name of the host."""
        return next(iter(self.requirements[HOSTNAME].values))


class Packing:
    """The decision whether a claim can take a pod, with the error if not.

    Args:
        best_effort: True if new claims may have fewer values than ``minValues`` (``--min-values-policy=BestEffort``).
    """

    def __init__(self, topology: Topology, reservations: Reservations, *, best_effort: bool) -> None:
        self.topology, self.reservations, self._best_effort = topology, reservations, best_effort
        #: The claims so far, in the order in which the next pod is offered to them.
        self.open: list[Claim] = []

    def fit(self, claim: Claim, waiting: WaitingPod, stage: Stage, *, is_new: bool) -> Fit | Refusal:
        """Return what is left of a claim with a pod; a refusal if it cannot take the pod."""
        taints = claim.pool.taints
        if not stage.tolerates(taints):
            if not is_new:
                claim.refused.add(id(stage))
            text = "; ".join(f"did not tolerate taint (taint={taint})" for taint in untolerated(stage.spec, taints))
            return Refusal(Obstacle.TAINTS, text)
        types = claim.types
        requests = claim.requests + stage.requests
        if not is_new and not self._has_room(claim, types, requests):
            claim.refused.add(id(stage))
            return Refusal(Obstacle.TYPES)
        if waiting.attachments:
            volumes = _united(claim.volumes, waiting.attachments)
            n_volumes = {driver: len(claims) for driver, claims in volumes.items()}
            types = types & claim.pool.types.holding(n_volumes)
            if not types.any():
                return Refusal(Obstacle.VOLUME_LIMIT, _volume_problem(claim, n_volumes))
        if not are_compatible(claim.requirements, stage.requirements, WELL_KNOWN):
            if not is_new:
                # A label that nothing is known of may be defined by the next pod.
                if conflict(claim.requirements, stage.requirements):
                    claim.refused.add(id(stage))
                return Refusal(Obstacle.REQUIREMENTS)
            text = f"incompatible requirements, {incompatibility(claim.requirements, stage.requirements, WELL_KNOWN)}"
            return Refusal(Obstacle.REQUIREMENTS, text, claim.requirements, stage.requirements)
        base = added(claim.requirements, stage.requirements.values())
        found: Fit | Refusal = Refusal(Obstacle.PLACES)
        for place in waiting.places or [{}]:
            found = self._fit_at(claim, waiting, stage, base, place, types, requests, is_new=is_new)
            if isinstance(found, Fit):
                return found
        alone = not waiting.places and not waiting.attachments and self.topology.is_free(waiting)
        if not is_new and alone and isinstance(found, Refusal) and found.obstacle is not Obstacle.RESERVATION:
            # Nothing but the claim itself decides.
            claim.refused.add(id(stage))
        return found

    def _has_room(self, claim: Claim, types: TypeMask, requests: Amounts) -> bool:
        return any(
            bool((claim.pool.types.fitting(requests + group.requests) & types & group.types).any())
            for group in claim.daemons
        )

    def _fit_at(
        self,
        claim: Claim,
        waiting: WaitingPod,
        stage: Stage,
        base: Requirements,
        place: Requirements,
        types: TypeMask,
        requests: Amounts,
        *,
        is_new: bool,
    ) -> Fit | Refusal:
        if place:
            problem = incompatibility(base, place, WELL_KNOWN)
            if problem:
                return Refusal(Obstacle.PLACES, f"incompatible volume requirements, {problem}", base, place)
            base = added(base, place.values())
        narrowed, problem = self.topology.narrowed(waiting, stage.strict, base)
        if not problem and narrowed is not base:
            problem = incompatibility(base, narrowed, WELL_KNOWN)
        if problem:
            return Refusal(Obstacle.TOPOLOGY, problem)
        if narrowed is not base:
            base = added(base, narrowed.values())
        return self._filtered(claim, waiting, stage, base, types, requests, is_new=is_new)

    def _filtered(
        self,
        claim: Claim,
        waiting: WaitingPod,
        stage: Stage,
        wanted: Requirements,
        types: TypeMask,
        requests: Amounts,
        *,
        is_new: bool,
    ) -> Fit | Refusal:
        own = claim.pool.types
        meeting, offered = own.meeting(wanted), own.offered(wanted)
        looked_at, fitting = np.zeros_like(types), np.zeros_like(types)
        for group in claim.daemons:
            if not _takes_port_of(waiting.key, stage, (*group.ports, *claim.ports)):
                looked_at |= group.types
                fitting |= own.fitting(requests + group.requests) & group.types
        looked_at &= types
        fitting &= offered & looked_at
        remaining = meeting & fitting & looked_at
        unmet = unmet_min_values(own, remaining, wanted) if remaining.any() else {}
        min_values = ""
        if unmet and is_new and self._best_effort:
            wanted = wanted | {key: replace(wanted[key], min_values=n) for key, n in unmet.items()}
        elif unmet:
            keys = " ".join(sorted(unmet))
            min_values = f"minValues requirement is not met for label(s) (label(s)=[{keys}])"
        if min_values or not remaining.any():
            if not is_new:
                return Refusal(Obstacle.TYPES)
            found = looked_at & meeting, fitting, looked_at & offered
            text = self._type_problem(claim, waiting, stage, wanted, found, min_values)
            met, fits, has_offering = (bool(each.any()) for each in found)
            obstacle = Obstacle.MIN_VALUES if min_values else Obstacle.TYPES
            return Refusal(obstacle, text, wanted, {}, (met, fits, has_offering))
        reservations = self._reservations(claim, remaining, wanted)
        if isinstance(reservations, str):
            return Refusal(Obstacle.RESERVATION, reservations)
        return Fit(wanted, remaining, requests, reservations)

    def _type_problem(
        self,
        claim: Claim,
        waiting: WaitingPod,
        stage: Stage,
        wanted: Requirements,
        found: tuple[TypeMask, TypeMask, TypeMask],
        min_values: str,
    ) -> str:
        met, fits, offered = (bool(each.any()) for each in found)
        text, typo = min_values, ""
        if not text:
            text = _TYPE_PROBLEMS.get((met, fits, offered), "")
            if not text:
                both = bool((found[1] & found[2] & ~found[0]).any())
                text = _OFFERED_AND_FITTING if both else _REQUIRED_AND_OFFERED
                text = text if both or (found[0] & found[2] & ~found[1]).any() else _TUPLE
            if (met, fits, offered) == (True, False, True) and stage.nanos.get("cpu", 0) >= _TYPO:
                typo = " (CPU request >= 1 Million, m vs M typo?)"
        groups = [
            group
            for group in claim.daemons
            if group.daemons and not _takes_port_of(waiting.key, stage, (*group.ports, *claim.ports))
        ]
        return f"{text}, requirements={requirements_text(wanted)}, resources={_resources(stage, groups)}{typo}"

    def _reservations(self, claim: Claim, types: TypeMask, wanted: Requirements) -> list[Offering] | str:
        """Return the reserved offerings that a claim can have; a problem if it has to wait for one."""
        reserved: list[Offering] = []
        with_capacity = full = fallback = False
        if not claim.pool.has_reservations:
            return reserved
        for i in np.flatnonzero(types):
            for each in claim.pool.types.types[i].offerings:
                if not each.available or not is_offered(wanted, each):
                    continue
                if each.capacity_type != RESERVED:
                    fallback = True
                elif not each.reservation_capacity:
                    full = True
                else:
                    with_capacity = True
                    if self.reservations.can_reserve(claim.host, each.reservation_id):
                        reserved.append(each)
        if with_capacity and not reserved:
            return (
                "one or more instance types with compatible reserved offerings are available, but could not be reserved"
            )
        if full and not with_capacity and not fallback:
            return "all compatible reserved offerings are full and no on-demand or spot fallback is available"
        if claim.reservations and not reserved:
            return "satisfying updated nodeclaim constraints would remove all compatible reserved offering options"
        return reserved

    def add(self, claim: Claim, waiting: WaitingPod, stage: Stage, fit: Fit) -> None:
        """Give a claim a pod."""
        claim.pods.append(waiting)
        claim.requirements, claim.types, claim.requests = fit.requirements, fit.types, fit.requests
        claim.volumes = _united(claim.volumes, waiting.attachments)
        claim.ports += ((waiting.key, port) for port in stage.host_ports)
        self.topology.register_host(claim.host)
        self.topology.record(waiting, claim.pool.taints, fit.requirements)
        if fit.reservations or claim.reservations:
            self.reservations.hold(claim.host, {each.reservation_id for each in fit.reservations})
        claim.reservations = fit.reservations


_OFFERED_AND_FITTING: Final = (
    "no instance type which had enough resources and the required offering met the scheduling requirements"
)
_REQUIRED_AND_OFFERED: Final = (
    "no instance type which met the scheduling requirements and the required offering had the required resources"
)
_TUPLE: Final = "no instance type met the requirements/resources/offering tuple"
#: The text by whether any type meets the requirements, fits, and has an offering.
_TYPE_PROBLEMS: Final = {
    (False, False, False): "no instance type met the scheduling requirements or had enough resources or had a required "
    "offering",
    (False, False, True): "no instance type met the scheduling requirements or had enough resources",
    (False, True, False): "no instance type met the scheduling requirements or had a required offering",
    (True, False, False): "no instance type had enough resources or had a required offering",
    (False, True, True): "no instance type met all requirements",
    (True, False, True): "no instance type has enough resources",
    (True, True, False): "no instance type has the required offering",
}


def _takes_port_of(key: str, stage: Stage, used: Sequence[tuple[str, HostPort]]) -> bool:
    """Report whether a port of a pod is in use by another."""
    return any(new.conflicts(port) for new in stage.host_ports for user, port in used if user != key)


def _united(known: Attachments, more: Attachments) -> dict[str, frozenset[str]]:
    return {**known, **{driver: known.get(driver, frozenset()) | claims for driver, claims in more.items()}}


def _volume_problem(claim: Claim, n_volumes: dict[str, int]) -> str:
    text = "would exceed volume limit for all instance type options"
    types = [claim.pool.types.types[i] for i in np.flatnonzero(claim.types)]
    for driver, n in sorted(n_volumes.items()):
        limits = [each.volume_limits.get(driver) for each in types]
        known = [limit for limit in limits if limit is not None and n > limit]
        if len(known) == len(limits):
            return f"{text} (provisioner={driver}, volume-count={n}, volume-limit={max(known, default=-1)})"
    return text


def _resources(stage: Stage, groups: Sequence[DaemonGroup]) -> str:
    """Return the requests of a pod and of the daemons of its node, as JSON."""
    least: dict[str, Amount] = {}
    most: dict[str, Amount] = {}
    for group in groups:
        own = {name: Amount(n, group.notation.get(name, QuantityFormat.DECIMAL)) for name, n in group.nanos.items()}
        if not most:
            least, most = own, own
            continue
        least = {n: own[n] if own[n].nanos < each.nanos else each for n, each in least.items() if n in own}
        most = {**own, **{n: own[n] if n in own and own[n].nanos > each.nanos else each for n, each in most.items()}}
    pod = {name: Amount(n, stage.notation.get(name, QuantityFormat.DECIMAL)) for name, n in stage.nanos.items()}
    lower = _json(_merged(least, pod) if least else pod)
    upper = _json(_merged(most, pod) if least else pod)
    return lower if lower == upper else f"min={lower}, max={upper}"


def _merged(one: dict[str, Amount], other: dict[str, Amount]) -> dict[str, Amount]:
    out = dict(one)
    for name, each in other.items():
        known = out.get(name)
        form = known.form if known is not None and known.nanos else each.form
        out[name] = Amount((known.nanos if known is not None else 0) + each.nanos, form)
    return out


def _json(amounts: dict[str, Amount]) -> str:
    return "{" + ",".join(f'"{name}":"{amounts[name]}"' for name in sorted(amounts)) + "}"
