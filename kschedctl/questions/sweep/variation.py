"""The parameters of a case: the plan's parameters, changed by the values of the axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kschedctl.questions.sweep.axis import (
    ARGS,
    CLUSTER,
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
from kschedctl.questions.sweep.plan import Plan, texts

#: The key of a loaded cluster, which cases can share: snapshot paths, cluster in them, Kubernetes version and feature
#: gates.
BaseKey = tuple[tuple[str, ...], str, str, tuple[tuple[str, bool], ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """The parameters of a case.

    Attributes
    ----------
    snapshot, cluster, kubernetes_version, feature_gates, config, of
        The values of the plan, or those of axes that replace them. Feature gates of an axis are added to the plan's.
    edits : tuple of (str, str)
        The what-if edits of the axes, as name of the option and value, in the order in which they take effect.
    weights, args
        The changes of the scheduler configuration, as for ``configured``.
    seed : int or None
        The seed of the random choice among nodes with equal scores; ``None`` for the first node by name.
    """

    snapshot: tuple[str, ...]
    cluster: str
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
        """The key of the loaded cluster that the case starts from."""
        return self.snapshot, self.cluster, self.kubernetes_version, self.feature_gates


def variation(plan: Plan, axes: Sequence[Axis], case: Mapping[str, Any]) -> Variation:
    """Return the parameters of a case.

    Parameters
    ----------
    case : mapping
        The value of each axis, by the axis' name.
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
        cluster="".join(those(CLUSTER, (base.cluster,))),
        kubernetes_version="".join(those(KUBERNETES_VERSION, (base.kubernetes_version,))),
        feature_gates=tuple(sorted({**base.feature_gates, **gates(more)}.items())),
        config="".join(those(CONFIG, (base.config,))),
        of=those(OF, texts(plan.of)),
        edits=tuple(sorted(edits, key=lambda edit: order.index(edit[0]))),
        weights={axis.of.removeprefix(WEIGHT): value for axis, value in given if axis.of.startswith(WEIGHT)},
        args=args,
        seed=of_kind[SEED][1] if SEED in of_kind else None,
    )
