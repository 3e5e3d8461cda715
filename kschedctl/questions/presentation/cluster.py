"""The document of a loaded cluster, which notebooks show: its pending pods, and the overview of its nodes."""

from __future__ import annotations

from typing import Final

from kschedctl.common.wording import counted, listed
from kschedctl.questions.face import SchedulingCluster
from kschedctl.questions.presentation.document import Document, Paragraph
from kschedctl.questions.presentation.frame import View
from kschedctl.questions.presentation.nodes import overview_document
from kschedctl.questions.presentation.tone import Tone
from kschedctl.trials.simulate.simulated_cluster import pending_pods

#: The number of pending pods that are named.
_FEW: Final = 5


def document(cluster: SchedulingCluster, view: View) -> Document:
    """Lay out the state of a cluster; nothing is simulated, so that a large cluster is shown at once."""
    pending = [cluster.pods.key(index) for index in pending_pods(cluster.cluster)]
    if pending:
        verb = "is" if len(pending) == 1 else "are"
        of = f"{len(pending)} of {counted(len(cluster.pods), 'pod')} {verb} pending"
        yield Paragraph(f"{of}: {listed(pending, most=_FEW)}", Tone.MIXED)
    else:
        yield Paragraph("no pod is pending", Tone.GOOD)
    yield from overview_document(cluster.nodes_overview(), view)
