"""The entries of the scheduling queue: pods, and since 1.37 pod groups (upstream ``QueuedEntityInfo``)."""

from __future__ import annotations

from kschedctl.trials.simulate.queued_pod import QueuedPodInfo
from kschedctl.trials.simulate.queued_pod_group import QueuedPodGroupInfo

QueueEntry = QueuedPodInfo | QueuedPodGroupInfo
