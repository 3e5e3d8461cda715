"""The pods require a node label that no node can have: an unknown OS or architecture, or a misspelt well-known key.

``kubernetes.io/os`` is ``linux`` or ``windows``, in lower case. ``kubernetes.io/arch`` is the architecture's name in
Go, so ``amd64`` and ``arm64``, not ``x86_64`` and ``aarch64``. An unknown key in the domains kubernetes.io,
node.kubernetes.io and topology.kubernetes.io can be a user's own label; it is reported only if it differs from a known
key by at most two letters, or by one letter if the known name has at most four letters.

The API server accepts the object, and the pods stay pending for ever. If other terms of the node affinity can match,
the term has no effect (warning).

Repair: write a label and value that nodes can have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kschedctl.common.findings import Severity
from kschedctl.common.wording import edits
from kschedctl.diagnosis.rules.labels import ARCHITECTURES
from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import Fix, renaming, setting
from kschedctl.linter.node_terms import demands_of
from kschedctl.linter.pods import DO_NOT_SCHEDULE, AnyPart, WorkloadPods
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import Steps, is_rendered, text
from kschedctl.objects.selectors import DOES_NOT_EXIST, IN, NOT_IN

FAILS = """v1 Pod web
nodeSelector:
  kubernetes.io/arch: x86_64  # <-
  topology.kubernetes.io/zones: eu-1a  # <-
"""
PASSES = FAILS.replace("x86_64", "amd64").replace("/zones", "/zone")

_OS: Final = frozenset(("linux", "windows"))
_ARCH: Final = frozenset(
    (
        *("386", "amd64", "arm", "arm64", "loong64", "mips", "mips64", "mips64le", "mipsle", "ppc64", "ppc64le"),
        *("riscv64", "s390x", "wasm"),
    )
)
_VALUES: Final = {
    "kubernetes.io/os": _OS,
    "beta.kubernetes.io/os": _OS,
    "kubernetes.io/arch": _ARCH,
    "beta.kubernetes.io/arch": _ARCH,
}
#: The known names after the slash, by domain.
_KNOWN: Final = {
    "kubernetes.io": ("arch", "hostname", "os"),
    "node.kubernetes.io": ("instance-type", "windows-build", "exclude-from-external-load-balancers"),
    "topology.kubernetes.io": ("region", "zone"),
}
_SHORT: Final = 4


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    yield from _of_selector(pods)
    yield from _of_terms(pods)
    topologies: list[AnyPart] = [*pods.spread, *pods.terms("podAffinity", required=True)]
    for part in topologies:
        key, steps = text(part.raw.get("topologyKey")), (*part.steps, "topologyKey")
        hard = part.raw.get("whenUnsatisfiable", DO_NOT_SCHEDULE) == DO_NOT_SCHEDULE
        if hard and (meant := _misspelt(key)) is not None:
            yield _of_key(key, meant, steps, setting(pods.obj, f"write {meant}", (steps, meant)))


def _of_selector(pods: WorkloadPods) -> Iterator[Problem]:
    for key, value in pods.node_selector.items():
        steps = pods.of_spec("nodeSelector", key)
        if (meant := _misspelt(key)) is not None:
            fix = renaming(pods.obj, steps, meant) if meant not in pods.node_selector else None
            yield replace(_of_key(key, meant, steps, fix), key=True)
        elif is_rendered(value) and (wrong := _wrong(key, (text(value),))):
            yield _of_value(pods, key, wrong, steps)


def _of_terms(pods: WorkloadPods) -> Iterator[Problem]:
    terms = pods.node_terms or []
    severity = Severity.WARNING if len(terms) > 1 else None
    for demand in (demand for steps, term in terms for demand in demands_of(term, steps)):
        at_key = (*demand.steps, "key")
        if demand.operator in (NOT_IN, DOES_NOT_EXIST):
            continue
        if (meant := _misspelt(demand.key)) is not None:
            fix = setting(pods.obj, f"write {meant}", (at_key, meant))
            yield _of_key(demand.key, meant, at_key, fix, severity)
        elif demand.operator == IN and (wrong := _wrong(demand.key, demand.values)):
            yield _of_value(pods, demand.key, wrong, (*demand.steps, "values", 0), severity)


def _of_key(name: str, meant: str, steps: Steps, fix: Fix | None, severity: Severity | None = None) -> Problem:
    message = f"no node has the label {name}; {meant} differs by one or two letters"
    return Problem(message=message, steps=steps, help=f"write {meant}", severity=severity, fix=fix)


def _of_value(
    pods: WorkloadPods, key: str, wrong: tuple[str, ...], steps: Steps, severity: Severity | None = None
) -> Problem:
    known = sorted(_VALUES[key])
    guess = _guess(key, wrong[0])
    return Problem(
        message=f"no node has {key}={' or '.join(wrong)}",
        steps=steps,
        help=f"write {guess}" if guess else f"known values: {', '.join(known)}",
        severity=severity,
        fix=setting(pods.obj, f"write {guess}", (steps, guess)) if guess else None,
    )


def _wrong(key: str, values: tuple[str, ...]) -> tuple[str, ...]:
    """Return the values if none of them is known, else nothing."""
    known = _VALUES.get(key)
    return values if known is not None and known.isdisjoint(values) else ()


def _guess(key: str, value: str) -> str:
    lower = value.lower()
    meant = ARCHITECTURES.get(lower, lower) if "arch" in key else lower
    return meant if meant in _VALUES[key] else ""


def _misspelt(key: str) -> str | None:
    domain, slash, name = key.rpartition("/")
    known = _KNOWN.get(domain) if slash else None
    if known is None or name in known or not is_rendered(key):
        return None
    near = [each for each in known if 0 < edits(name, each) <= (1 if len(each) <= _SHORT else 2)]
    return f"{domain}/{near[0]}" if near else None
