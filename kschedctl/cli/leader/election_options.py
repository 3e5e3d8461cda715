"""The options for the timing of a leader election."""

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
    """The three timing settings of an election."""

    title: ClassVar[str] = "Times"

    lease_duration: Annotated[
        str, _time("--lease-duration", "Time that others wait after a renewal. Default: 15s.")
    ] = ""
    renew_deadline: Annotated[
        str, _time("--renew-deadline", "Time that a leader keeps trying to renew. Default: 10s.")
    ] = ""
    retry_period: Annotated[str, _time("--retry-period", "Time between two attempts. Default: 2s.")] = ""

    def laid_over(self, settings: ElectionSettings) -> ElectionSettings:
        """Return the settings overlaid with the times that are given.

        Raises
        ------
        typer.BadParameter
            If a time is invalid.
        InputError
            If client-go would reject the times.
        """
        from dataclasses import replace

        found = settings
        for name in _TIMES:
            if text := getattr(self, name):
                found = replace(found, **{name: seconds(text, _flag(name))})  # type: ignore[arg-type]
        found.check()
        return found

    def given(self) -> Iterator[tuple[str, str]]:
        """Return the options that are given, each with its time."""
        return ((_flag(name), text) for name in _TIMES if (text := getattr(self, name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionOptions(TimeOptions):
    """The settings of the candidates in an election."""

    no_release: Annotated[
        bool,
        typer.Option(
            "--no-release", help="Do not release the lease when a candidate ends; kube-scheduler releases it."
        ),
    ] = False

    def settings(self, config: str) -> ElectionSettings:
        """Return the settings of a KubeSchedulerConfiguration, if one is given, overlaid with the options.

        Raises
        ------
        InputError
            If the configuration or the times are invalid.
        """
        from dataclasses import replace

        from kschedctl.leaderelection.settings import ElectionSettings

        if config:
            from kschedctl.leaderelection.overview import settings_of
            from kschedctl.questions.loading import load_settings

            settings = settings_of(load_settings(config).leader_election)
        else:
            settings = ElectionSettings()
        if self.no_release:
            settings = replace(settings, release_on_cancel=False)
        return self.laid_over(settings)
