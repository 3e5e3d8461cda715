"""The times of candidates, as options."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

import typer

from kschedctl.cli.leader.times import seconds
from kschedctl.cli.options.group import OptionGroup

if TYPE_CHECKING:
    from kschedctl.leaderelection.settings import ElectionSettings


_TIMES: Final = ("lease_duration", "renew_deadline", "retry_period")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _time(flag: str, text: str) -> typer.models.OptionInfo:
    found: typer.models.OptionInfo = typer.Option(flag, metavar="TIME", help=text, show_default=False)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeOptions(OptionGroup):
    """The three times of an election."""

    title: ClassVar[str] = "Times"

    lease_duration: Annotated[str, _time("--lease-duration", "How long others wait after a renewal. Default: 15s.")] = (
        ""
    )
    renew_deadline: Annotated[
        str, _time("--renew-deadline", "How long a leader goes on trying to renew. Default: 10s.")
    ] = ""
    retry_period: Annotated[str, _time("--retry-period", "The pause between two tries. Default: 2s.")] = ""

    def laid_over(self, settings: ElectionSettings) -> ElectionSettings:
        """The settings with the times that are given.

        Raises
        ------
        typer.BadParameter
            Where one is no time.
        InputError
            Where client-go would refuse them.
        """
        from dataclasses import replace

        found = settings
        for name in _TIMES:
            if text := getattr(self, name):
                found = replace(found, **{name: seconds(text, _flag(name))})  # type: ignore[arg-type]
        found.check()
        return found

    def given(self) -> Iterator[tuple[str, str]]:
        """Yield the options that are given, each with its time."""
        return ((_flag(name), text) for name in _TIMES if (text := getattr(self, name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionOptions(TimeOptions):
    """How candidates take part."""

    no_release: Annotated[
        bool,
        typer.Option("--no-release", help="Candidates that end leave the lease; kube-scheduler gives it up."),
    ] = False

    def settings(self, config: str) -> ElectionSettings:
        """The settings, those of a KubeSchedulerConfiguration where one is given, and the options over them.

        Raises
        ------
        InputError
            Where the configuration or the times are wrong.
        """
        from dataclasses import replace

        from kschedctl.leaderelection.settings import ElectionSettings

        if config:
            from kschedctl.leaderelection.checks import settings_of
            from kschedctl.loading import load_settings

            settings = settings_of(load_settings(config).leader_election)
        else:
            settings = ElectionSettings()
        if self.no_release:
            settings = replace(settings, release_on_cancel=False)
        return self.laid_over(settings)
