"""The health check for a leader that hangs (client-go ``HealthzAdaptor``)."""

from __future__ import annotations

from typing import Final

from kschedctl.leaderelection.elector import LeaderElector


class HealthzAdaptor:
    """A health check that fails while a leader neither renews nor ends (client-go ``HealthzAdaptor``).

    Parameters
    ----------
    timeout : float
        The tolerated time after the expiry of the lease, in seconds; kube-scheduler uses 20.
    """

    name: Final = "leaderElection"

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._elector: LeaderElector | None = None

    def set_leader_election(self, elector: LeaderElector) -> None:
        """Set the candidate to check. Until then the check passes."""
        self._elector = elector

    def check(self) -> str:
        """Return the problem; empty if there is none."""
        return "" if self._elector is None else self._elector.check(self._timeout)
