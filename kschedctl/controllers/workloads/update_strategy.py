"""The update strategy of a workload, with defaults and with percentages converted to numbers of pods.

Sources: ``ResolveFenceposts`` (pkg/controller/deployment/util), ``getStatefulSetMaxUnavailable`` (pkg/controller/
statefulset) and the defaults of apps/v1.
"""

import re
from typing import Final

import msgspec

from kschedctl.common.errors import ManifestError
from kschedctl.common.findings import Where
from kschedctl.common.text.patterns import pattern
from kschedctl.objects.workload import Deployment, IntOrPercent, RollingUpdateDeployment, StatefulSet

ROLLING: Final = "RollingUpdate"
RECREATE: Final = "Recreate"
ON_DELETE: Final = "OnDelete"
PARALLEL: Final = "Parallel"
#: The kinds whose rollout is modelled.
ROLLED: Final = (Deployment, StatefulSet)
_DEFAULT: Final = "25%"
_PERCENT: Final = pattern(r"([0-9]{1,9})%", re.ASCII)


class DeploymentRolling(msgspec.Struct, frozen=True, kw_only=True):
    """The update strategy of a Deployment."""

    #: True if all old pods are deleted before new ones are created; the other fields then have no meaning.
    recreate: bool
    #: The maximum number of pods above the number of replicas.
    max_surge: int = 0
    #: The maximum number of unavailable replicas; 1 if it and maxSurge both round to 0, capped at the replicas.
    max_unavailable: int = 0

    def __str__(self) -> str:
        if self.recreate:
            return RECREATE
        return f"{ROLLING}, maxSurge {self.max_surge}, maxUnavailable {self.max_unavailable}"


class StatefulSetRolling(msgspec.Struct, frozen=True, kw_only=True):
    """The update strategy of a StatefulSet."""

    #: True if pods are replaced only after a user deletes them.
    on_delete: bool
    #: True if a pod is created or replaced only while all pods before it are available.
    ordered: bool
    #: The number of the first pods, by position, that keep the old revision.
    partition: int = 0
    #: The maximum number of unavailable pods.
    max_unavailable: int = 1

    def __str__(self) -> str:
        if self.on_delete:
            return ON_DELETE
        order = "OrderedReady" if self.ordered else PARALLEL
        return f"{ROLLING}, {order}, partition {self.partition}, maxUnavailable {self.max_unavailable}"


def deployment_rolling(deployment: Deployment, replicas: int, where: Where = "") -> DeploymentRolling:
    """Return the update strategy of a Deployment.

    Args:
        replicas: The number that percentages refer to; maxSurge is rounded up, maxUnavailable down.
        where: The source of the Deployment, for error messages.

    Raises ManifestError if an API server would reject the strategy.
    """
    strategy = deployment.spec.strategy
    if strategy.type == RECREATE:
        return DeploymentRolling(recreate=True)
    _check_type(strategy.type, (ROLLING, RECREATE), "spec.strategy.type", where)
    given = strategy.rolling_update or RollingUpdateDeployment()
    path = "spec.strategy.rollingUpdate"
    surge = _scaled(given.max_surge, replicas, f"{path}.maxSurge", where, up=True)
    unavailable = _scaled(given.max_unavailable, replicas, f"{path}.maxUnavailable", where, up=False)
    if not surge and not unavailable:
        if _is_zero(given.max_surge) and _is_zero(given.max_unavailable):
            problem = "may not be 0 when `maxSurge` is 0"
            raise ManifestError(problem, where=where, path=f"{path}.maxUnavailable", hint="set one of them above 0")
        unavailable = 1
    return DeploymentRolling(recreate=False, max_surge=surge, max_unavailable=min(unavailable, replicas))


def stateful_set_rolling(stateful_set: StatefulSet, replicas: int, where: Where = "") -> StatefulSetRolling:
    """Return the update strategy of a StatefulSet.

    The value of maxUnavailable is used wherever the manifest sets it, regardless of the MaxUnavailableStatefulSet gate:
    an API server without that gate does not store the field.

    Args:
        replicas: The number that a percentage refers to; it is rounded up, to at least 1.
        where: The source of the StatefulSet, for error messages.

    Raises ManifestError if an API server would reject the strategy.
    """
    spec = stateful_set.spec
    strategy = spec.update_strategy
    ordered = spec.pod_management_policy != PARALLEL
    _check_type(strategy.type, (ROLLING, ON_DELETE), "spec.updateStrategy.type", where)
    if strategy.type == ON_DELETE:
        return StatefulSetRolling(on_delete=True, ordered=ordered)
    given = strategy.rolling_update
    most: IntOrPercent = 1
    if given is not None and given.max_unavailable is not None:
        most = given.max_unavailable
    path = "spec.updateStrategy.rollingUpdate.maxUnavailable"
    return StatefulSetRolling(
        on_delete=False,
        ordered=ordered,
        partition=given.partition if given is not None else 0,
        max_unavailable=max(_scaled(most, replicas, path, where, up=True), 1),
    )


def _check_type(given: str, known: tuple[str, ...], path: str, where: Where) -> None:
    if given and given not in known:
        raise ManifestError(
            f'"{given}" is not a strategy', where=where, path=path, hint=f"strategies: {', '.join(known)}"
        )


def _is_zero(given: IntOrPercent | None) -> bool:
    return given in (0, "0%")


def _scaled(given: IntOrPercent | None, total: int, path: str, where: Where, *, up: bool) -> int:
    """Convert a number or a percentage of `total` to a number of pods, rounded up or down; 25% by default."""
    value = _DEFAULT if given is None else given
    if isinstance(value, int):
        if value >= 0:
            return value
    elif match := _PERCENT.fullmatch(value):
        return -(-int(match[1]) * total // 100) if up else int(match[1]) * total // 100
    hint = "set a number of pods or a percentage such as 25%, not below 0"
    raise ManifestError(f'"{value}" is neither a number nor a percentage', where=where, path=path, hint=hint)
