"""Which cluster a command is about: the options that name it, and how they are written again for another command."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

import typer

from kschedctl.cli.options.group import OptionGroup
from kschedctl.cli.options.shared import (
    CallExtendersOption,
    ConfigOption,
    GatesOption,
    MaxUnpackedOption,
    VersionOption,
    feature_gates,
    max_bytes,
    request_seconds,
)
from kschedctl.cli.options.whatif import NO_WHAT_IFS, WhatIfOptions

if TYPE_CHECKING:
    from kschedctl.api.meta import ApiObject
    from kschedctl.face import SchedulingCluster
    from kschedctl.findings.location import Location
    from kschedctl.live.context import LiveContext
    from kschedctl.snapshot.load import Snapshot
    from kschedctl.snapshot.written import WrittenObjects

SNAPSHOT_VARIABLE: Final = "KSCHEDCTL_SNAPSHOT"
STDIN: Final = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions(OptionGroup):
    """Where the cluster comes from."""

    title: ClassVar[str] = "Which cluster"

    snapshot: Annotated[
        list[str] | None,
        typer.Option(
            "--snapshot",
            metavar="PATH",
            help="The cluster: a file, folder, archive or - for standard input. "
            f"Default: ${SNAPSHOT_VARIABLE}, else the cluster of a kubectl context.",
            show_default=False,
        ),
    ] = None
    context: Annotated[
        str,
        typer.Option(
            "--context",
            metavar="NAME",
            help="Without a snapshot: the kubectl context to ask. Default: the current one.",
            show_default=False,
        ),
    ] = ""
    kubeconfig: Annotated[
        str,
        typer.Option(
            "--kubeconfig",
            metavar="FILE",
            help="Without a snapshot: where the contexts are. Default: as for kubectl.",
            show_default=False,
        ),
    ] = ""
    request_timeout: Annotated[
        str,
        typer.Option(
            "--request-timeout",
            metavar="TIME",
            help="Without a snapshot: how long a request may take, such as 30s or 2m; 0 for any time. The reading as a "
            "whole may take ten times as long. Default: 1m.",
            show_default=False,
        ),
    ] = ""
    max_unpacked: MaxUnpackedOption = ""

    def source(self) -> Source:
        """Where the cluster comes from.

        Raises
        ------
        typer.BadParameter
            Where a snapshot and a running cluster are both given, or a time cannot be read.
        """
        live = "--context" if self.context else "--kubeconfig" if self.kubeconfig else ""
        of_live = live or ("--request-timeout" if self.request_timeout else "")
        if self.snapshot and of_live:
            raise typer.BadParameter("a snapshot is given as well: give one or the other", param_hint=of_live)
        paths = list(self.snapshot or ())
        if not paths and not live:
            paths = [path for path in os.environ.get(SNAPSHOT_VARIABLE, "").split(os.pathsep) if path]
        if self.request_timeout:
            # So that it is refused before anything is read.
            request_seconds(self.request_timeout)
        return Source(
            tuple(paths),
            bool(self.snapshot),
            self.context,
            self.kubeconfig,
            self.request_timeout,
            self.max_unpacked,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions(SourceOptions):
    """Which cluster is meant, and whose rules apply to it."""

    config: ConfigOption = ""
    kubernetes_version: VersionOption = ""
    gates: GatesOption = None

    def chosen(self, what_ifs: WhatIfOptions = NO_WHAT_IFS, *, admission: bool = True) -> ChosenCluster:
        """The cluster that is meant.

        Parameters
        ----------
        what_ifs : WhatIfOptions
            What is changed in it.
        admission : bool
            Whether new pods go through admission.

        Raises
        ------
        typer.BadParameter
            Where two clusters are named, or a feature gate cannot be read.
        """
        return ChosenCluster(
            source=self.source(),
            config=self.config,
            kubernetes_version=self.kubernetes_version,
            feature_gates=feature_gates(self.gates),
            what_ifs=what_ifs,
            admission=admission,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidingOptions(ClusterOptions):
    """The same for commands that decide where pods go."""

    call_extenders: CallExtendersOption = False

    def chosen(self, what_ifs: WhatIfOptions = NO_WHAT_IFS, *, admission: bool = True) -> ChosenCluster:
        """The cluster that is meant; parameters and errors are those of ``ClusterOptions.chosen``."""
        chosen = ClusterOptions.chosen(self, what_ifs, admission=admission)
        return replace(chosen, call_extenders=self.call_extenders)


@dataclass(frozen=True, slots=True)
class Source:
    """Files, or a running cluster.

    Attributes
    ----------
    paths : tuple of str
        The snapshot; none for a running cluster.
    given : bool
        Whether an option names the snapshot, not the environment.
    context, kubeconfig : str
        Which running cluster; empty for kubectl's own choice.
    request_timeout : str
        How long a request may take, as it was given; empty for the default.
    max_unpacked : str
        How much of it and of manifests is unpacked at most, as it was given; empty for the default.
    """

    paths: tuple[str, ...]
    given: bool = True
    context: str = ""
    kubeconfig: str = ""
    request_timeout: str = ""
    max_unpacked: str = ""

    @property
    def max_bytes(self) -> int | None:
        """How much is unpacked at most, in bytes; nothing for the default."""
        return max_bytes(self.max_unpacked)

    def read(self, *, call_extenders: bool = False) -> Snapshot:
        """Read the cluster.

        Parameters
        ----------
        call_extenders : bool
            Whether extenders are going to be asked, who are sent whole objects.

        Raises
        ------
        KschedctlError
            As ``kschedctl.load``.
        """
        from kschedctl.cli.progress import busy
        from kschedctl.cli.streams import stdin
        from kschedctl.loading import read_snapshot

        # A running cluster tells itself how far its reading is.
        with busy("reading the snapshot") if self.paths else nullcontext():
            return read_snapshot(
                *self.paths,
                stdin=stdin() if STDIN in self.paths else None,
                live=None if self.paths else self.live(),
                max_unpacked=self.max_bytes,
                call_extenders=call_extenders,
            )

    def live(self) -> LiveContext:
        """The running cluster, with a line on a terminal that tells how far its reading is."""
        from kschedctl.cli.live import live_context

        seconds = request_seconds(self.request_timeout) if self.request_timeout else None
        return live_context(self.context, self.kubeconfig, seconds)

    @property
    def namespace(self) -> str:
        """The namespace of what names none, as for kubectl: that of the context, else ``default``."""
        from kschedctl.api.defaults import DEFAULT_NAMESPACE

        if self.paths:
            return DEFAULT_NAMESPACE
        from kschedctl.live.context import LiveContext, context_namespace

        return context_namespace(LiveContext(context=self.context, kubeconfig=self.kubeconfig)) or DEFAULT_NAMESPACE

    def arguments(self) -> Iterator[str]:
        """The same options for another command."""
        if self.given:
            for path in self.paths:
                yield from ("--snapshot", path)
        if self.context:
            yield from ("--context", self.context)
        if self.kubeconfig:
            yield from ("--kubeconfig", self.kubeconfig)
        if self.request_timeout:
            yield from ("--request-timeout", self.request_timeout)
        if self.max_unpacked:
            yield from ("--max-unpacked", self.max_unpacked)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenCluster:
    """A cluster, whose rules apply to it, and what is changed in it.

    Attributes
    ----------
    source : Source
        Where it comes from.
    config : str
        The scheduler's configuration; empty for the default.
    kubernetes_version : str
        Whose rules apply; empty for the cluster's own version.
    feature_gates : mapping of str to bool
        Gates that are not at their default.
    what_ifs : WhatIfOptions
        What is changed in the cluster.
    admission : bool
        Whether new pods go through admission.
    call_extenders : bool
        Whether the configuration's extenders are asked.
    """

    source: Source
    config: str
    kubernetes_version: str
    feature_gates: Mapping[str, bool]
    what_ifs: WhatIfOptions = NO_WHAT_IFS
    admission: bool = True
    call_extenders: bool = False

    @property
    def inputs(self) -> tuple[str, ...]:
        """Everything that is read for the cluster."""
        return (*self.source.paths, *self.what_ifs.sources)

    def load(
        self, manifests: Sequence[tuple[ApiObject, Location]] = (), written: WrittenObjects | None = None
    ) -> SchedulingCluster:
        """Load the cluster, with the objects of manifests that are about to be applied laid over it.

        Parameters
        ----------
        manifests : sequence of (object, place)
            The objects.
        written : WrittenObjects, optional
            What the manifests were read from.

        Raises
        ------
        KschedctlError
            As ``kschedctl.load``.
        """
        return self.over(self.read(), manifests, written)

    def read(self) -> Snapshot:
        """Read what ``over`` puts a scheduler over.

        Raises
        ------
        KschedctlError
            As ``kschedctl.load``.
        """
        return self.source.read(call_extenders=self.call_extenders)

    def over(
        self,
        snapshot: Snapshot,
        manifests: Sequence[tuple[ApiObject, Location]] = (),
        written: WrittenObjects | None = None,
    ) -> SchedulingCluster:
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
            call_extenders=self.call_extenders,
            written=written,
        )

    def needing_nodes(self, cluster: SchedulingCluster) -> SchedulingCluster:
        """The cluster, for a command whose answers are about nodes.

        Raises
        ------
        SnapshotError
            Where files hold no nodes and do not say that there are none either: then they are no cluster.
        """
        told = cluster.snapshot.nodes_told or len(cluster.nodes)
        if self.source.paths and not told:
            from kschedctl.errors import SnapshotError

            raise SnapshotError(
                "holds no nodes",
                where=", ".join(self.source.paths),
                hint="give one that does: kschedctl snapshot writes it, kubectl get nodes -o yaml prints them",
            )
        return cluster

    def arguments(self) -> Iterator[str]:
        """The same options for another command."""
        yield from self.source.arguments()
        yield from self.rules()
        yield from self.what_ifs.arguments()
        if not self.admission:
            yield "--no-admission"
        if self.call_extenders:
            yield "--call-extenders"

    def rules(self, prefix: str = "--", version: str = "kubernetes-version") -> Iterator[str]:
        """The options that say whose rules apply.

        Parameters
        ----------
        prefix, version : str
            How the options begin, and what the one with the release is called.
        """
        if self.config:
            yield from (f"{prefix}config", self.config)
        if self.kubernetes_version:
            yield from (f"{prefix}{version}", self.kubernetes_version)
        if self.feature_gates:
            gates = ",".join(f"{name}={str(value).lower()}" for name, value in self.feature_gates.items())
            yield from (f"{prefix}feature-gates", gates)
