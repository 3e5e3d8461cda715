"""The feature gates that the kube-scheduler of a release takes, and what becomes of those that are given.

``feature_gates.txt`` has what kube-scheduler itself registers: Kubernetes' gates with those of its API machinery,
client, logs and metrics, by release; ``on`` or ``off`` by default, ``!`` where that is locked, ``.`` where the release
does not know the gate. Its column ``decides`` has those that the scheduler reads on the way to a decision; whatever
else it reads is about how it works (queue, batches, calls) or about its endpoints, and the rest is of no concern to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Final

from kschedctl.errors import UnsupportedError

_TABLE: Final = Path(__file__).with_name("feature_gates.txt")
_ABSENT: Final = "."
_LOCKED: Final = "!"
#: How alike a name must be to be meant, from 0 to 1.
_NEAR: Final = 0.7
#: Gates that set others, which have other defaults: also their own default sets these.
_SETS_OTHERS: Final = "AllBeta"


@dataclass(frozen=True, slots=True)
class Gate:
    """A feature gate of one release.

    Attributes
    ----------
    default : bool
        Whether it is on where nobody sets it.
    locked : bool
        Whether kube-scheduler refuses to set it otherwise.
    decides : bool
        Whether it bears on decisions.
    """

    default: bool
    locked: bool
    decides: bool


@cache
def known_gates(version: str) -> Mapping[str, Gate]:
    """The gates that the kube-scheduler of a release takes.

    Parameters
    ----------
    version : str
        The release, such as ``1.36``.
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
    """Whether each gate is on by default; those that went away because they are always on are on.

    Parameters
    ----------
    version : str
        The release, such as ``1.36``.

    Examples
    --------
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
    """Check feature gates as kube-scheduler does, and find those that are set for nothing.

    Parameters
    ----------
    version : str
        The release, such as ``1.36``.
    given : mapping of str to bool
        The gates that are set.
    modelled : mapping of str to bool
        Those that take effect.

    Returns
    -------
    tuple of str
        The gates that have no effect on a decision, although they are set otherwise than by default.

    Raises
    ------
    UnsupportedError
        For a gate that the release does not know or that is locked to the other value, and for one that would change
        decisions and is not modelled.
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
