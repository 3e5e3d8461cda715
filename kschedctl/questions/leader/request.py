"""The question of ``leader``."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.request import AnalysisRequest

if TYPE_CHECKING:
    from kschedctl.questions.leader.answer import LeaderOverview
    from kschedctl.trials.loaded_cluster import LoadedCluster


@dataclass(frozen=True, kw_only=True)
class LeaderRequest(AnalysisRequest["LeaderOverview"]):
    """Show the leader of every election on a Lease, since when it leads, and when another candidate would take over.

    Raises
    ------
    ClusterError
        If the Leases could not be listed.
    """

    check_configuration: Annotated[
        bool, "True to check the configuration of the scheduler's own election against the Leases."
    ] = False

    def answer(self, cluster: "LoadedCluster", handle: AnalysisHandle) -> "LeaderOverview":
        from kschedctl.questions.leader.analysis import leader

        return leader(cluster, check_configuration=self.check_configuration)
