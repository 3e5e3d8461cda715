"""``kschedctl nodes``."""

from kschedctl.cli.command import asking
from kschedctl.cli.options.cluster import ClusterOptions
from kschedctl.cli.options.whatif import ClusterWhatIfOptions
from kschedctl.questions.nodes.request import NodesRequest

nodes = asking(NodesRequest, "nodes", cluster=ClusterOptions, what_ifs=ClusterWhatIfOptions)
