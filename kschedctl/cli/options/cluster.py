"""The options that select the cluster of a command, and the rules that apply to it."""

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from kschedctl.cli.completion import CACHE_VARIABLE, SNAPSHOT_VARIABLE, STDIN, chosen_cluster, snapshot_paths
from kschedctl.cli.options.declared import OptionGroup
from kschedctl.cli.options.shared import (
    AsGroupOption,
    AsOption,
    CallExtendersOption,
    ClusterOption,
    ConfigOption,
    GatesOption,
    MaxUnpackedOption,
    VersionOption,
    feature_gates,
    impersonated_groups,
    max_bytes,
    request_seconds,
)
from kschedctl.cli.options.whatif import NO_WHAT_IFS, WhatIfOptions

if TYPE_CHECKING:
    from kschedctl.questions.cluster_request import ClusterRequest, ClusterSource


class SourceOptions(OptionGroup):
    """The source of the cluster."""

    title: ClassVar[str] = "Cluster"

    snapshot: Annotated[
        list[str] | None,
        typer.Option(
            "--snapshot",
            metavar="PATH",
            help="Snapshot of the cluster: a file, folder, archive, or - for standard input. "
            f"Default: ${SNAPSHOT_VARIABLE}, else the cluster of a kubectl context.",
            show_default=False,
        ),
    ] = None
    cluster: ClusterOption = ""
    context: Annotated[
        str,
        typer.Option(
            "--context",
            metavar="NAME",
            help="Without a snapshot: kubectl context of the cluster. Default: the current one.",
            show_default=False,
        ),
    ] = ""
    kubeconfig: Annotated[
        str,
        typer.Option(
            "--kubeconfig",
            metavar="FILE",
            help="Without a snapshot: kubeconfig file. Default: as for kubectl.",
            show_default=False,
        ),
    ] = ""
    as_user: AsOption = ""
    as_groups: AsGroupOption = None
    request_timeout: Annotated[
        str,
        typer.Option(
            "--request-timeout",
            metavar="TIME",
            help="Without a snapshot: time limit per request, such as 30s or 2m; 0 means no limit. Reading "
            "the whole cluster may take ten times as long. Default: 1m.",
            show_default=False,
        ),
    ] = ""
    max_unpacked: MaxUnpackedOption = ""
    #: The namespace to read if the user is not allowed to list a kind in all namespaces: the value of ``-n``.
    namespace: str = ""

    def source(self) -> "ClusterSource":
        """Return the source of the cluster.

        Raises typer.BadParameter if a snapshot and a running cluster are both given, a time is invalid, or a
            cluster is given without a snapshot.
        """
        live = "--context" if self.context else "--kubeconfig" if self.kubeconfig else "--as" if self.as_user else ""
        of_live = live or ("--request-timeout" if self.request_timeout else "")
        if self.snapshot and of_live:
            raise typer.BadParameter("a snapshot is given, too: give only one of them", param_hint=of_live)
        as_groups = impersonated_groups(self.as_user, self.as_groups)
        seconds = request_seconds(self.request_timeout) if self.request_timeout else None
        paths = snapshot_paths(self.snapshot, live=bool(live))
        if self.cluster and not paths:
            raise typer.BadParameter("requires a snapshot: --context selects a running cluster", param_hint="--cluster")

        from kschedctl.questions.cluster_request import ClusterSource

        return ClusterSource(
            paths=paths,
            cluster=chosen_cluster(self.cluster, self.snapshot) if paths else "",
            context=self.context,
            kubeconfig=self.kubeconfig,
            as_user=self.as_user,
            as_groups=as_groups,
            request_seconds=seconds,
            max_bytes=max_bytes(self.max_unpacked),
            read_namespace=self.namespace,
        )


class ClusterOptions(SourceOptions):
    """The cluster, and the rules that apply to it."""

    cache: Annotated[
        bool,
        typer.Option(
            "--cache",
            help="With a snapshot: load it from the cache file of an earlier run, and write that file beside it. "
            f"Default: off, unless ${CACHE_VARIABLE} is set.",
            show_default=False,
        ),
    ] = False
    config: ConfigOption = ""
    kubernetes_version: VersionOption = ""
    gates: GatesOption = None

    def request(self, what_ifs: WhatIfOptions = NO_WHAT_IFS, *, admission: bool = True) -> "ClusterRequest":
        """Return the request of the cluster.

        Args:
            admission: True if new pods go through admission.

        Raises typer.BadParameter if two clusters are given, a feature gate is invalid, or ``--cache`` has no files.
        """
        gates = feature_gates(self.gates)
        source = self.source()
        if self.cache and not source.paths:
            raise typer.BadParameter("requires a snapshot: a running cluster is not cached", param_hint="--cache")
        if self.cache and STDIN in source.paths:
            raise typer.BadParameter("standard input is not cached: name a file or folder", param_hint="--cache")
        source = replace(source, cache=self.cache or bool(os.environ.get(CACHE_VARIABLE)))

        from kschedctl.questions.cluster_request import ClusterRequest

        return ClusterRequest(
            source=source,
            config=self.config,
            kubernetes_version=self.kubernetes_version,
            feature_gates=gates,
            what_ifs=what_ifs.request(),
            admission=admission,
        )


class DecidingOptions(ClusterOptions):
    """The cluster, for commands that make scheduling decisions."""

    call_extenders: CallExtendersOption = False

    def request(self, what_ifs: WhatIfOptions = NO_WHAT_IFS, *, admission: bool = True) -> "ClusterRequest":
        request = ClusterOptions.request(self, what_ifs, admission=admission)
        return replace(request, call_extenders=self.call_extenders)
