"""Which cluster a command is about: the options that name it, read, and how they are written again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from kschedctl.cli.options.declared import feature_gates, snapshot_paths
from kschedctl.cli.whatif_options import NO_WHAT_IFS, WhatIfOptions

if TYPE_CHECKING:
    from kschedctl.api.meta import ApiObject
    from kschedctl.face import SchedulingCluster
    from kschedctl.snapshot.load import Snapshot
    from kschedctl.text.location import Location


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """The options that name a cluster and whose rules apply to it.

    Attributes
    ----------
    paths : tuple of str
        The snapshot.
    snapshot_given : bool
        Whether an option names it, not the environment.
    config : str
        The scheduler's configuration; empty for the default.
    kubernetes_version : str
        Whose rules apply; empty for the cluster's own version.
    feature_gates : mapping of str to bool
        Gates that are not at their default.
    context, kubeconfig : str
        Which cluster is asked where there is no snapshot; empty for kubectl's own choice.
    what_ifs : WhatIfOptions
        What is changed in the cluster.
    admission : bool
        Whether new pods go through admission.
    """

    paths: tuple[str, ...]
    snapshot_given: bool
    config: str
    kubernetes_version: str
    feature_gates: Mapping[str, bool]
    context: str = ""
    kubeconfig: str = ""
    what_ifs: WhatIfOptions = NO_WHAT_IFS
    admission: bool = True

    @classmethod
    def read(
        cls,
        snapshot: Sequence[str] | None,
        config: str,
        kubernetes_version: str,
        gates: Sequence[str] | None,
        *,
        context: str = "",
        kubeconfig: str = "",
        what_ifs: WhatIfOptions = NO_WHAT_IFS,
        admission: bool = True,
    ) -> Self:
        """Read the options as typer gives them.

        Raises
        ------
        typer.BadParameter
            Where two clusters are named, or a feature gate cannot be read.
        """
        return cls(
            paths=tuple(snapshot_paths(snapshot, context, kubeconfig)),
            snapshot_given=bool(snapshot),
            config=config,
            kubernetes_version=kubernetes_version,
            feature_gates=feature_gates(gates),
            context=context,
            kubeconfig=kubeconfig,
            what_ifs=what_ifs,
            admission=admission,
        )

    @property
    def inputs(self) -> tuple[str, ...]:
        """Everything that is read for the cluster."""
        return (*self.paths, *self.what_ifs.sources)

    def load(self, manifests: Sequence[tuple[ApiObject, Location]] = ()) -> SchedulingCluster:
        """Load the cluster, with the objects of manifests that are about to be applied laid over it.

        Raises
        ------
        KschedctlError
            As ``kschedctl.load``.
        """
        return self.over(self.read_snapshot(), manifests)

    def read_snapshot(self) -> Snapshot:
        """Read the cluster alone."""
        from kschedctl.cli.live import live_context
        from kschedctl.cli.streams import stdin
        from kschedctl.loading import read_snapshot
        from kschedctl.snapshot.pod_choice import STDIN

        return read_snapshot(
            *self.paths,
            stdin=stdin() if STDIN in self.paths else None,
            live=None if self.paths else live_context(self.context, self.kubeconfig),
        )

    def over(self, snapshot: Snapshot, manifests: Sequence[tuple[ApiObject, Location]] = ()) -> SchedulingCluster:
        """Put a scheduler over what was read, with the changes, those of manifests first."""
        from kschedctl.loading import over
        from kschedctl.whatif.edits import Apply

        applied = (Apply(tuple(manifests), source="manifests"),) if manifests else ()
        return over(
            snapshot,
            kubernetes_version=self.kubernetes_version,
            feature_gates=self.feature_gates,
            config=self.config or None,
            edits=(*applied, *self.what_ifs.edits()),
            admission=self.admission,
        )

    def arguments(self) -> Iterator[str]:
        """The same options for another command."""
        if self.snapshot_given:
            for path in self.paths:
                yield from ("--snapshot", path)
        if self.context:
            yield from ("--context", self.context)
        if self.kubeconfig:
            yield from ("--kubeconfig", self.kubeconfig)
        if self.config:
            yield from ("--config", self.config)
        if self.kubernetes_version:
            yield from ("--kubernetes-version", self.kubernetes_version)
        if self.feature_gates:
            gates = ",".join(f"{name}={str(value).lower()}" for name, value in self.feature_gates.items())
            yield from ("--feature-gates", gates)
        yield from self.what_ifs.arguments()
        if not self.admission:
            yield "--no-admission"
