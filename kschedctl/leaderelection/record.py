"""The record of an election, which a lock keeps for all candidates (client-go ``LeaderElectionRecord``)."""

from __future__ import annotations

from dataclasses import dataclass

Raw = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderElectionRecord:
    """What candidates know of each other.

    Attributes
    ----------
    holder_identity : str
        Who leads; empty where somebody has given it up, so that anybody may take over.
    lease_duration_seconds : int
        How long the others wait since they last saw the record change.
    acquire_time, renew_time : float
        Since when the holder leads and when it last said so: seconds since the Unix epoch as the holder's clock told
        them. No other candidate goes by them. Zero where there is none.
    leader_transitions : int
        How often another one took over.
    strategy : str
        Of coordinated election, such as ``OldestEmulationVersion``; empty where candidates elect themselves.
    preferred_holder : str
        Of coordinated election: for whom the holder shall make room.
    """

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: float = 0.0
    renew_time: float = 0.0
    leader_transitions: int = 0
    strategy: str = ""
    preferred_holder: str = ""

    def raw(self) -> Raw:
        """What is compared to see whether the record has changed.

        Times count in whole seconds there (``metav1.Time``), so that the second of two renewals within one second is
        not seen.
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
