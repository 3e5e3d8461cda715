"""The record of an election, which all candidates share through a lock (client-go ``LeaderElectionRecord``)."""

from __future__ import annotations

from dataclasses import dataclass

Raw = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderElectionRecord:
    """The shared state of an election.

    Attributes
    ----------
    holder_identity : str
        The identity of the leader; empty after a release, when any candidate may take over.
    lease_duration_seconds : int
        The time, in seconds, that other candidates wait after they last saw the record change.
    acquire_time, renew_time : float
        The times when the holder acquired the lease and last renewed it, in seconds since the Unix epoch by the
        holder's clock; 0 if unknown. No other candidate relies on them.
    leader_transitions : int
        The number of times that the lease changed its holder.
    strategy : str
        The strategy of a coordinated election, such as ``OldestEmulationVersion``; empty if the candidates elect
        without a coordinator.
    preferred_holder : str
        The candidate for which the holder of a coordinated election must give up the lease; empty for none.
    """

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: float = 0.0
    renew_time: float = 0.0
    leader_transitions: int = 0
    strategy: str = ""
    preferred_holder: str = ""

    def raw(self) -> Raw:
        """Return the values that are compared to detect a change of the record.

        Times are compared in whole seconds (``metav1.Time``), so the second of two renewals within one second is not
        noticed.
        """
        return (
            self.holder_identity,
            self.lease_duration_seconds,
            int(self.acquire_time),
            int(self.renew_time),
            self.leader_transitions,
            self.strategy,
            self.preferred_holder,
        )
