"""The options that name the second side of a comparison."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, ClassVar

import typer

from kschedctl.cli.options.cluster import ChosenCluster, Source
from kschedctl.cli.options.group import OptionGroup
from kschedctl.cli.options.shared import config_option, feature_gates, gates_option, version_option
from kschedctl.cli.options.whatif import WhatIfOptions


class ExitOn(StrEnum):
    """What makes the exit code 1."""

    ANY = "any"
    WORSE = "worse"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgainstOptions(OptionGroup):
    """What the second side has otherwise than the first."""

    title: ClassVar[str] = "Compared with"

    against: Annotated[
        list[str] | None,
        typer.Option("--against", metavar="PATH", help="The other snapshot.", show_default=False),
    ] = None
    against_config: Annotated[str, config_option("--against-config", "The other KubeSchedulerConfiguration.")] = ""
    against_version: Annotated[str, version_option("--against-version", "The release to compare with.")] = ""
    against_gates: Annotated[
        list[str] | None, gates_option("--against-feature-gates", "The other feature gates. Default: the same.")
    ] = None

    @property
    def given(self) -> bool:
        """Whether any of them is given."""
        return bool(self.against or self.against_config or self.against_version or self.against_gates)

    def beside(self, first: ChosenCluster, what_ifs: WhatIfOptions) -> ChosenCluster:
        """The second side: what is given, else what the first side has.

        Parameters
        ----------
        first : ChosenCluster
            The first side.
        what_ifs : WhatIfOptions
            What is changed on the second side.

        Raises
        ------
        typer.BadParameter
            Where a feature gate cannot be read.
        """
        return replace(
            first,
            source=Source(tuple(self.against), max_unpacked=first.source.max_unpacked)
            if self.against
            else first.source,
            config=self.against_config or first.config,
            kubernetes_version=self.against_version or first.kubernetes_version,
            feature_gates=feature_gates(self.against_gates) if self.against_gates else first.feature_gates,
            what_ifs=what_ifs,
        )


def arguments_against(first: ChosenCluster, other: ChosenCluster) -> Iterator[str]:
    """The options that make the second side of the first, to be copied."""
    if other.source.paths != first.source.paths:
        for path in other.source.paths:
            yield from ("--against", path)
    own = replace(
        other,
        config=other.config if other.config != first.config else "",
        kubernetes_version=other.kubernetes_version if other.kubernetes_version != first.kubernetes_version else "",
        feature_gates=other.feature_gates if other.feature_gates != first.feature_gates else {},
    )
    yield from own.rules("--against-", version="version")
    yield from other.what_ifs.arguments()
