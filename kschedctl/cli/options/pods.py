"""The options that name or select the pods of a command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from kschedctl.cli import completion
from kschedctl.cli.options.group import OptionGroup
from kschedctl.cli.options.shared import (
    STRICT,
    AllNamespacesOption,
    NamespaceOption,
    SelectorOption,
    ValidateOption,
)
from kschedctl.sources.snapshot.decoding import Validation

if TYPE_CHECKING:
    from kschedctl.questions.loading import ClusterRequest
    from kschedctl.questions.pod_selection import PodRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeOptions(OptionGroup):
    """Manifests, and the selection by namespace and labels."""

    title: ClassVar[str] = "Pods"

    filename: Annotated[
        list[str] | None,
        typer.Option(
            "--filename",
            "-f",
            metavar="FILE",
            help="Manifests with pods or workloads: files, folders, or - for standard input.",
        ),
    ] = None
    namespace: NamespaceOption = ""
    all_namespaces: AllNamespacesOption = False
    selector: SelectorOption = ""
    validate: ValidateOption = STRICT

    @property
    def validation(self) -> Validation:
        """The treatment of fields that an API server would reject."""
        return Validation.of(self.validate)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodOptions(ScopeOptions):
    """The selection of pods: by name, in manifests, by labels, or else all pending pods."""

    pods: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="POD",
            autocompletion=completion.pods,
            help="NAMESPACE/NAME, pod/NAME or NAME of a pod in the snapshot, a workload such as deploy/NAME, "
            "a manifest, a folder of manifests (DIR/), or - for standard input.",
            show_default=False,
        ),
    ] = None
    no_admission: Annotated[
        bool,
        typer.Option("--no-admission", help="Use new pods as written, with defaults but without admission."),
    ] = False

    def request(self, cluster: ClusterRequest) -> PodRequest:
        """Return the request of the pods: existing ones of a cluster, or new ones to create in it."""
        from kschedctl.questions.pod_selection import PodRequest

        return PodRequest(
            cluster=cluster,
            names=tuple(self.pods or ()),
            filenames=tuple(self.filename or ()),
            namespace=self.namespace,
            all_namespaces=self.all_namespaces,
            selector=self.selector,
            validation=self.validation,
        )
