"""Reference of NodeResourcesFit: pod by pod and node by node."""

from collections.abc import Iterable, Sequence
from fractions import Fraction

from kschedctl.objects.core import Node
from kschedctl.objects.pod import Container, Pod
from tests.reference.quantity import amount, rounded_up

Amounts = dict[str, Fraction]
_NATIVE = ("cpu", "memory", "ephemeral-storage")
_DEFAULTS = {"cpu": Fraction(1, 10), "memory": Fraction(200 * 1024**2)}


def requests(pod: Pod, *, missing: Iterable[str] = (), pod_level: bool = True) -> Amounts:
    """Return the requests of a pod; containers use a default for each resource in ``missing``."""

    def of(container: Container) -> Amounts:
        found = {name: amount(text) for name, text in container.resources.requests.items()}
        for name in missing:
            found.setdefault(name, _DEFAULTS[name])
        return found

    running: Amounts = {}
    for container in pod.spec.containers:
        running = _sum(running, of(container))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in pod.spec.init_containers:
        if container.restart_policy == "Always":
            sidecars = _sum(sidecars, of(container))
            peak = _larger(peak, sidecars)
        else:
            peak = _larger(peak, _sum(sidecars, of(container)))
    total = _larger(_sum(running, sidecars), peak)
    if pod_level:
        for name, text in pod.spec.resources.requests.items():
            total[name] = amount(text)
    return _sum(total, {name: amount(text) for name, text in pod.spec.overhead.items()})


def _sum(a: Amounts, b: Amounts) -> Amounts:
    return {name: a.get(name, Fraction(0)) + b.get(name, Fraction(0)) for name in {**a, **b}}


def _larger(a: Amounts, b: Amounts) -> Amounts:
    return {name: max(a.get(name, Fraction(0)), b.get(name, Fraction(0))) for name in {**a, **b}}


def units(resource: str, value: Fraction) -> int:
    """Return the value in milli-CPU, bytes or as a count, rounded up."""
    return rounded_up(value * 1000 if resource == "cpu" else value)


def insufficient(pod: Pod, node: Node, pods: Sequence[Pod]) -> list[str]:
    """Return the resources that the node lacks, in the order of the scheduler's reasons."""
    offers = {name: units(name, amount(text)) for name, text in node.status.allocatable.items()}
    lacking = [] if len(pods) + 1 <= offers.get("pods", 0) else ["pods"]
    wanted = requests(pod)
    order = [*_NATIVE, *sorted(set(wanted) - set(_NATIVE))]
    for name in order:
        asked = units(name, wanted.get(name, Fraction(0)))
        used = sum(units(name, requests(other).get(name, Fraction(0))) for other in pods)
        if asked > 0 and asked > offers.get(name, 0) - used:
            lacking.append(name)
    return lacking


def least_allocated(pod: Pod, node: Node, pods: Sequence[Pod]) -> int:
    """Return the mean of the free percentages of CPU and memory, each truncated."""
    found = []
    for name in ("cpu", "memory"):
        offered = units(name, amount(node.status.allocatable.get(name, 0)))
        if not offered:
            continue
        used = sum(units(name, _counted(other)[name]) for other in pods)
        used += units(name, requests(pod, missing=_DEFAULTS, pod_level=False)[name])
        found.append(0 if used > offered else (offered - used) * 100 // offered)
    return sum(found) // len(found) if found else 0


def _counted(pod: Pod) -> Amounts:
    """Return the requests of a running pod in scoring: without defaults for resources that the pod level requests."""
    missing = set(_DEFAULTS) - (set(requests(pod)) if pod.spec.resources.requests else set())
    return {**dict.fromkeys(_DEFAULTS, Fraction(0)), **requests(pod, missing=missing)}
