"""The options that select the manifests of a command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from kschedctl.cli.options.group import OptionGroup
from kschedctl.cli.options.shared import STRICT, EveryNamespaceOption, ValidateOption, namespace_option
from kschedctl.sources.snapshot.decoding import Validation

if TYPE_CHECKING:
    from kschedctl.questions.manifests import ManifestRequest


@dataclass(frozen=True, slots=True, kw_only=True)
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
        """Return the request of the manifests."""
        from kschedctl.questions.manifests import ManifestRequest

        return ManifestRequest(
            paths=tuple(self.manifests or ()),
            filenames=tuple(self.filename or ()),
            namespace=self.namespace,
            validation=self.validation,
            argument="manifests",
        )
