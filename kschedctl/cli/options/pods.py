"""The options that name or select the pods of a command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from kschedctl.cli import completion
from kschedctl.cli.options.declared import OptionGroup
from kschedctl.cli.options.shared import (
    STRICT,
    AllNamespacesOption,
    EveryNamespaceOption,
    NamespaceOption,
    SelectorOption,
    ValidateOption,
    namespace_option,
)
from kschedctl.sources.snapshot.validation import Validation

if TYPE_CHECKING:
    from kschedctl.questions.cluster_request import ClusterRequest
    from kschedctl.questions.manifests import ManifestRequest
    from kschedctl.questions.pod_selection import PodRequest, WorkloadRequest


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
        bool, typer.Option("--no-admission", help="Use new pods as written, with defaults but without admission.")
    ] = False

    def request(self, cluster: ClusterRequest) -> PodRequest:
        """Return the request of the pods: existing ones of a cluster, or new ones to create in it."""
        from kschedctl.objects.kinds import joined_names
        from kschedctl.questions.pod_selection import PodRequest

        return PodRequest(
            cluster=cluster,
            names=joined_names(self.pods or ()),
            filenames=tuple(self.filename or ()),
            namespace=self.namespace,
            all_namespaces=self.all_namespaces,
            selector=self.selector,
            validation=self.validation,
        )


# The options that select the manifests of a command.


class ManifestOptions(OptionGroup):
    """Manifests, as arguments or with ``-f``."""

    title: ClassVar[str] = "Pods"

    manifests: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MANIFEST",
            help="Pods and workloads to create: files, folders, or - for standard input.",
            show_default=False,
        ),
    ] = None
    filename: Annotated[
        list[str] | None,
        typer.Option("--filename", "-f", metavar="FILE", help="Same as MANIFEST, in kubectl's notation."),
    ] = None
    namespace: Annotated[
        str, namespace_option("Namespace of objects that do not set one. Default: as for kubectl.")
    ] = ""
    all_namespaces: EveryNamespaceOption = False
    validate: ValidateOption = STRICT

    @property
    def validation(self) -> Validation:
        """The treatment of fields that an API server would reject."""
        return Validation.of(self.validate)

    def request(self) -> ManifestRequest:
        from kschedctl.questions.manifests import ManifestRequest

        return ManifestRequest(
            paths=tuple(self.manifests or ()),
            filenames=tuple(self.filename or ()),
            namespace=self.namespace,
            validation=self.validation,
            argument="manifests",
        )


# The options that select the workload of a command.


class WorkloadOptions(OptionGroup):
    """A workload of the cluster or of a manifest."""

    title: ClassVar[str] = "Workload"

    workload: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORKLOAD",
            autocompletion=completion.rolled,
            help="deploy/NAME or sts/NAME; optional with -f if the manifests contain only one such workload.",
            show_default=False,
        ),
    ] = None
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
        """Return the request of the workload.

        Raises typer.BadParameter if none is named, or several are.
        """
        from kschedctl.objects.kinds import joined_names
        from kschedctl.questions.pod_selection import WorkloadRequest

        names = joined_names(self.workload or ())
        if not names and not self.filename:
            raise typer.BadParameter("name a workload, such as deploy/web, or give its manifest with -f")
        if len(names) > 1:
            raise typer.BadParameter(f"name only one workload, not {' and '.join(names)}")
        return WorkloadRequest(
            cluster=cluster,
            name=names[0] if names else "",
            filenames=tuple(self.filename or ()),
            namespace=self.namespace,
            all_namespaces=self.all_namespaces,
            validation=Validation.of(self.validate),
        )
