"""Which workload a command is about: the options that name one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from kschedctl.cli import completion
from kschedctl.cli.options.group import OptionGroup
from kschedctl.cli.options.shared import STRICT, AllNamespacesOption, ValidateOption, namespace_option
from kschedctl.snapshot.validation import Validation

if TYPE_CHECKING:
    from kschedctl.requests.cluster import ClusterRequest
    from kschedctl.requests.workloads import WorkloadRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadOptions(OptionGroup):
    """One workload: of the cluster, or as a manifest has it."""

    title: ClassVar[str] = "Which workload"

    workload: Annotated[
        str,
        typer.Argument(
            metavar="WORKLOAD",
            autocompletion=completion.rolled,
            help="deploy/NAME or sts/NAME; with -f it may be left out where the manifests have one of these only.",
            show_default=False,
        ),
    ] = ""
    filename: Annotated[
        list[str] | None,
        typer.Option(
            "--filename", "-f", metavar="FILE", help="Manifests with the workload as it is to be: files, folders or -."
        ),
    ] = None
    namespace: Annotated[str, namespace_option("The namespace. Default: as for kubectl.")] = ""
    all_namespaces: AllNamespacesOption = False
    validate: ValidateOption = STRICT

    def request(self, cluster: ClusterRequest) -> WorkloadRequest:
        """Return the workload that is asked for, of a cluster."""
        from kschedctl.requests.workloads import WorkloadRequest

        return WorkloadRequest(
            cluster=cluster,
            name=self.workload,
            filenames=tuple(self.filename or ()),
            namespace=self.namespace,
            all_namespaces=self.all_namespaces,
            validation=Validation.of(self.validate),
        )
