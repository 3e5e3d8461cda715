"""What a case says: the values of its axes, sorted by what they change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kschedctl.sweep.axis import (
    ARGS,
    CONFIG,
    EDITS_BY_NAME,
    FEATURE_GATES,
    KUBERNETES_VERSION,
    OF,
    SEED,
    SNAPSHOT,
    WEIGHT,
    Axis,
    gates,
)
from kschedctl.sweep.plan import Plan, texts

#: What cases have in common that start from the same loaded cluster: snapshot, release and gates.
BaseKey = tuple[tuple[str, ...], str, tuple[tuple[str, bool], ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """A case.

    Attributes
    ----------
    snapshot, kubernetes_version, feature_gates, config, of
        As in the plan, changed by what the axes say.
    edits : tuple of (str, str)
        What-ifs, by name of the option and value, in the order in which they take effect.
    weights, args
        What changes in the scheduler's configuration, as for ``configured``.
    seed : int or None
        Draws among equal nodes.
    """

    snapshot: tuple[str, ...]
    kubernetes_version: str
    feature_gates: tuple[tuple[str, bool], ...]
    config: str
    of: tuple[str, ...]
    edits: tuple[tuple[str, str], ...]
    weights: Mapping[str, int]
    args: Mapping[str, Mapping[str, Any]]
    seed: int | None

    @property
    def base(self) -> BaseKey:
        """Which loaded cluster it starts from."""
        return self.snapshot, self.kubernetes_version, self.feature_gates


def variation(plan: Plan, axes: Sequence[Axis], case: Mapping[str, Any]) -> Variation:
    """What a case says.

    Parameters
    ----------
    case : mapping
        A value by the name of each axis.
    """
    base = plan.base
    given = [(axis, case[axis.name]) for axis in axes if case[axis.name] is not None]
    of_kind = {axis.of: (axis, value) for axis, value in given}
    args: dict[str, dict[str, Any]] = {}
    for axis, value in given:
        if axis.of.startswith(ARGS):
            plugin, _, path = axis.of.removeprefix(ARGS).partition(".")
            args.setdefault(plugin, {})[path] = value

    def those(kind: str, else_: tuple[str, ...]) -> tuple[str, ...]:
        return of_kind[kind][0].texts(of_kind[kind][1]) if kind in of_kind else else_

    more = "".join(those(FEATURE_GATES, ()))
    order = list(EDITS_BY_NAME)
    edits = [(axis.of, text) for axis, value in given if axis.of in EDITS_BY_NAME for text in axis.texts(value)]
    return Variation(
        snapshot=those(SNAPSHOT, texts(base.snapshot)),
        kubernetes_version="".join(those(KUBERNETES_VERSION, (base.kubernetes_version,))),
        feature_gates=tuple(sorted({**base.feature_gates, **gates(more)}.items())),
        config="".join(those(CONFIG, (base.config,))),
        of=those(OF, texts(plan.of)),
        edits=tuple(sorted(edits, key=lambda edit: order.index(edit[0]))),
        weights={axis.of.removeprefix(WEIGHT): value for axis, value in given if axis.of.startswith(WEIGHT)},
        args=args,
        seed=of_kind[SEED][1] if SEED in of_kind else None,
    )
