"""A health check on a leader that hangs (client-go ``HealthzAdaptor``)."""

from __future__ import annotations

from typing import Final

from kschedctl.leaderelection.elector import LeaderElector


class HealthzAdaptor:
    """A health check that fails while a leader neither renews nor ends (client-go ``HealthzAdaptor``).

    Parameters
    ----------
    timeout : float
        How long after the end of its lease that is borne, in seconds; kube-scheduler bears it for 20.
    """

    name: Final = "leaderElection"

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._elector: LeaderElector | None = None

    def set_leader_election(self, elector: LeaderElector) -> None:
        """Say whom it watches; before, nothing is wrong."""
        self._elector = elector

    def check(self) -> str:
        """What is wrong; empty where nothing is."""
        return "" if self._elector is None else self._elector.check(self._timeout)
