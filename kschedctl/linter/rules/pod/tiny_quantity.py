"""A container requests or limits less than 1Mi of memory or disk: probably 128m was written for 128Mi.

The suffix ``m`` means thousandths: 128m of memory is 0.128 bytes. A number without a suffix is in bytes. No container
can start with that little.

The API server accepts the object, with a warning that is easily missed. The pods are scheduled as if they needed
nothing, and are killed or never start.

Repair: write the unit, such as 128Mi.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import setting
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import Steps, mapping, nano_units
from kschedctl.objects.quantity import NANO

FAILS = """v1 Pod web
resources:
  requests:
    memory: 128m  # <-
"""
PASSES = FAILS.replace("128m", "128Mi")

_LEAST: Final = 2**20 * NANO
_NAMES: Final = ("memory", "ephemeral-storage")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    places = [(container.steps, container.raw.get("resources")) for container in pods.containers]
    places.append((pods.of_spec(), pods.spec.get("resources")))
    for steps, resources in places:
        for field in ("requests", "limits"):
            for name, written in mapping(mapping(resources).get(field)).items():
                if name in _NAMES or name.startswith("hugepages-"):
                    yield from _of_amount(pods, written, (*steps, "resources", field, name))


def _of_amount(pods: WorkloadPods, written: Any, steps: Steps) -> Iterator[Problem]:
    nanos = nano_units(written)
    if nanos is None or not 0 < nanos < _LEAST:
        return
    shown = f"{nanos / NANO:g} bytes"
    of_bytes = str(written) == str(nanos // NANO)
    milli = isinstance(written, str) and written.endswith("m")
    meant = f"{written[:-1]}Mi" if milli and isinstance(written, str) else ""
    yield Problem(
        message=f"{written} of {steps[-1]} is {shown}" if not of_bytes else f"{written} of {steps[-1]} is in bytes",
        steps=steps,
        help=f"write {meant}" if meant else f"write the unit, such as {written}Mi",
        fix=setting(pods.obj, f"write {meant}", (steps, meant), safe=False) if meant else None,
    )
