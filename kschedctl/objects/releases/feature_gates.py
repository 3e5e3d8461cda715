"""The feature gates of a release's kube-scheduler, and the check of gates that are set.

``feature_gates.txt`` lists the gates that kube-scheduler registers, by release: Kubernetes' gates and those of its API
machinery, client, logs and metrics. An entry is ``on`` or ``off`` by default, with ``!`` if the default is locked, or
``.`` if the release does not know the gate. The column ``decides`` marks the gates that the scheduler reads in a
scheduling decision. All other gates concern the scheduler's operation (queue, batches, API calls) or its endpoints, or
do not affect it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Final

from kschedctl.common.errors import UnsupportedError

_TABLE: Final = Path(__file__).with_name("feature_gates.txt")
_ABSENT: Final = "."
_LOCKED: Final = "!"
#: The minimum similarity of a suggested name, from 0 to 1.
_NEAR: Final = 0.7
#: The gate that sets other gates. Setting it to its own default also sets gates with another default.
_SETS_OTHERS: Final = "AllBeta"


@dataclass(frozen=True, slots=True)
class Gate:
    """A feature gate of one release."""

    #: True if the gate is on by default.
    default: bool
    #: True if kube-scheduler refuses to change the gate.
    locked: bool
    #: True if the gate affects scheduling decisions.
    decides: bool


@cache
def known_gates(version: str) -> Mapping[str, Gate]:
    """Return the gates that the kube-scheduler of a release accepts.

    Args:
        version: The release, such as ``1.36``.
    """
    header, *rows = (line.split() for line in _TABLE.read_text(encoding="utf-8").splitlines())
    column, decides = header.index(version), header.index("decides")
    return {
        row[0]: Gate(row[column].startswith("on"), row[column].endswith(_LOCKED), row[decides] == "yes")
        for row in rows
        if row[column] != _ABSENT
    }


@cache
def gate_defaults(version: str) -> Mapping[str, bool]:
    """Return the default of each gate. A removed gate is on if it was last locked to on, else off.

    Args:
        version: The release, such as ``1.36``.

    >>> gates = gate_defaults("1.37")
    >>> gates["SidecarContainers"], gates["EnvFiles"], gates["GenericWorkload"]
    (True, True, False)
    """
    header, *rows = (line.split() for line in _TABLE.read_text(encoding="utf-8").splitlines())
    column, first = header.index(version), header.index("decides") + 1
    defaults = {}
    for row in rows:
        known = [state for state in row[first : column + 1] if state != _ABSENT]
        if row[column] != _ABSENT:
            defaults[row[0]] = row[column].startswith("on")
        elif known:
            defaults[row[0]] = known[-1] == f"on{_LOCKED}"
    return defaults


def idle_gates(version: str, given: Mapping[str, bool], modelled: Mapping[str, bool]) -> tuple[str, ...]:
    """Validate feature gates as kube-scheduler does, and return those without effect.

    Args:
        version: The release, such as ``1.36``.

    Returns: The gates that are set to another value than their default, but affect no decision.

    Raises UnsupportedError if the release does not know a gate, if a gate is locked to the other value, or if a
        gate would change decisions and is not modelled.
    """
    known = known_gates(version)
    idle = []
    for name, value in given.items():
        gate = known.get(name)
        if gate is None:
            close = " or ".join(get_close_matches(name, known, n=2, cutoff=_NEAR))
            hint = f"did you mean {close}?" if close else f"Kubernetes {version} has no such gate"
            raise UnsupportedError(f"unrecognized feature gate: {name}", hint=hint)
        if gate.locked and value != gate.default:
            wanted, locked = str(value).lower(), str(gate.default).lower()
            raise UnsupportedError(f"cannot set feature gate {name} to {wanted}, feature is locked to {locked}")
        if name in modelled or (value == gate.default and name != _SETS_OTHERS):
            continue
        if gate.decides:
            raise UnsupportedError(
                f"feature gate {name} is not modelled for Kubernetes {version}",
                hint=f"it would change decisions; modelled gates: {', '.join(sorted(modelled))}",
            )
        idle.append(name)
    return tuple(idle)
