"""The times of an election in a KubeSchedulerConfiguration."""

from __future__ import annotations

from kschedctl.leaderelection.checks import settings_of
from kschedctl.leaderelection.settings import ElectionSettings
from kschedctl.loading import load_settings


def configured_settings(path: str) -> ElectionSettings:
    """The times of a scheduler with a configuration.

    Raises
    ------
    InputError
        Where kube-scheduler would refuse it.
    """
    return settings_of(load_settings(path).leader_election)
