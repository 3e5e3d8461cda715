"""Disruption budgets: the evictions that they can ever allow, and the numbers that would allow one.

The arithmetic is that of the disruption controller (pkg/controller/disruption): percentages are rounded up for both
minAvailable and maxUnavailable, and both are relative to the expected number of pods, which is the scale of the pods'
controllers.
"""

from __future__ import annotations

from typing import Any, Final

#: The reason why a pod is not expected, by the kind of its controller. Unless minAvailable is a number, the disruption
#: controller then fails (SyncFailed) and allows no eviction; a pod without a controller it only leaves out.
WITHOUT_SCALE: Final = {
    "apps/DaemonSet": "a DaemonSet has no scale",
    "batch/Job": "a Job has no scale",
    "batch/CronJob": "a Job has no scale",
    "Pod": "the pod has no controller",
}
#: A budget that allows no eviction for any number of pods up to this one is said to allow none at all.
_MOST_PODS: Final = 1000


def share(value: Any, of: int, *, up: bool) -> int | None:
    """Return a number, or a percentage of `of` rounded up or down; ``None`` if `value` is neither.

    Examples
    --------
    >>> share("25%", 3, up=True), share("25%", 3, up=False), share(2, 3, up=True), share("2", 3, up=True)
    (1, 0, 2, None)
    """
    if isinstance(value, str):
        number = value.removesuffix("%")
        if number == value or not (number.isascii() and number.isdigit()):
            return None
        percent = int(number)
        return -(-percent * of // 100) if up else percent * of // 100
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def forbids(field: str, value: Any, n: int) -> bool:
    """Report whether a budget allows no eviction while all of its `n` pods are healthy.

    Percentages are rounded up for both minAvailable and maxUnavailable.

    Examples
    --------
    >>> forbids("minAvailable", "67%", 3), forbids("minAvailable", "66%", 3), forbids("maxUnavailable", "10%", 3)
    (True, False, False)
    """
    number = share(value, n, up=True)
    if number is None:
        return False
    return number >= n if field == "minAvailable" else number == 0


def always_forbids(field: str, value: Any) -> bool:
    """Report whether a budget allows no eviction, whatever the number of pods."""
    return value in ((0, "0%") if field == "maxUnavailable" else ("100%",)) and value is not False


def needs_scale(field: str, value: Any) -> bool:
    """Report whether a budget depends on the expected number of pods, and so on the scale of their controller."""
    return field == "maxUnavailable" or isinstance(value, str)


def desired_healthy(field: str, value: Any, n: int) -> int | None:
    """Return the number of healthy pods that a budget wants of `n` expected ones; ``None`` if the value is invalid.

    Examples
    --------
    >>> desired_healthy("minAvailable", "67%", 3), desired_healthy("maxUnavailable", 1, 3)
    (3, 2)
    """
    number = share(value, n, up=True)
    if number is None:
        return None
    return number if field == "minAvailable" else max(n - number, 0)


def enough_pods(field: str, value: Any, n: int) -> int | None:
    """Return the smallest number of pods, at least `n`, of which one can be evicted; ``None`` if there is none.

    Examples
    --------
    >>> enough_pods("minAvailable", 1, 1), enough_pods("minAvailable", "67%", 3), enough_pods("maxUnavailable", 0, 3)
    (2, 4, None)
    """
    if always_forbids(field, value):
        return None
    return next((number for number in range(max(n, 1), n + _MOST_PODS) if not forbids(field, value, number)), None)
