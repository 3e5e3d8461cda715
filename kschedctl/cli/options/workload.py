"""The options that select the workload of a command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from kschedctl.cli import completion
from kschedctl.cli.options.group import OptionGroup
from kschedctl.cli.options.shared import STRICT, AllNamespacesOption, ValidateOption, namespace_option
from kschedctl.sources.snapshot.decoding import Validation

if TYPE_CHECKING:
    from kschedctl.questions.loading import ClusterRequest
    from kschedctl.questions.pod_selection import WorkloadRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadOptions(OptionGroup):
    """A workload of the cluster or of a manifest."""

    title: ClassVar[str] = "Workload"

    workload: Annotated[
        str,
        typer.Argument(
            metavar="WORKLOAD",
            autocompletion=completion.rolled,
            help="deploy/NAME or sts/NAME; optional with -f if the manifests contain only one such workload.",
            show_default=False,
        ),
    ] = ""
    filename: Annotated[
        list[str] | None,
        typer.Option(
            "--filename",
            "-f",
            metavar="FILE",
            help="Manifests with the new version of the workload: files, folders, or - for standard input.",
        ),
    ] = None
    namespace: Annotated[str, namespace_option("Namespace of the workload. Default: as for kubectl.")] = ""
    all_namespaces: AllNamespacesOption = False
    validate: ValidateOption = STRICT

    def request(self, cluster: ClusterRequest) -> WorkloadRequest:
        """Return the request of the workload."""
        from kschedctl.questions.pod_selection import WorkloadRequest

        return WorkloadRequest(
            cluster=cluster,
            name=self.workload,
            filenames=tuple(self.filename or ()),
            namespace=self.namespace,
            all_namespaces=self.all_namespaces,
            validation=Validation.of(self.validate),
        )
