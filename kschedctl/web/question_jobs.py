"""Questions that take long, as background jobs."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Sequence
from typing import Any

from kschedctl.questions.answer import Answer
from kschedctl.questions.face import SchedulingCluster
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.loading import ClusterRequest
from kschedctl.questions.nodes.analysis import NodesRequest, nodes_overview
from kschedctl.questions.nodes.answer import NodesOverview
from kschedctl.web.jobs import Job, Jobs
from kschedctl.web.questions.asked import Asked
from kschedctl.web.questions.question import Question


def begin_job(
    jobs: Jobs,
    question: Question,
    values: Sequence[tuple[str, str]],
    body: bytes,
    compare: tuple[ClusterRequest, ...],
    user: str,
) -> Job:
    """Begin a job that answers a question; its result is for `read_answer`.

    Parameters
    ----------
    values, body, compare
        The parameters of the question, as for ``Question.asked``.
    user : str
        The user who begins the job.

    Raises
    ------
    InputError
        If there is no such parameter, or a value cannot be read.
    BusyError
        If too many jobs have not ended.
    """
    asked = question.asked({}, values, body, compare)
    about = ", ".join(f"{name}={value}" for name, value in values)
    return jobs.begin(question.path.strip("/"), _answer, question.run, asked, about=about, user=user)


def _answer(cluster: SchedulingCluster, run: Any, asked: Asked[Any], handle: AnalysisHandle) -> bytes:
    answer = run(cluster, asked, handle)
    # The map on the page shows the nodes that the answer is about: with the what-ifs, and as they were.
    changed = asked.over(cluster, handle)
    overview = nodes_overview(changed, NodesRequest(), handle) if len(changed.nodes) else None
    return zlib.compress(pickle.dumps((answer, overview)), level=1)


def read_answer(result: bytes) -> tuple[Answer, NodesOverview | None]:
    """Return the answer in the result of a job, and the nodes of its cluster.

    The server's own process only passes results on to workers.
    """
    answer: tuple[Answer, NodesOverview | None] = pickle.loads(zlib.decompress(result))
    return answer


def job_json(cluster: SchedulingCluster, result: bytes, handle: AnalysisHandle) -> bytes:
    """Return the answer in the result of a job as JSON, with the fields of ``-o json``."""
    return read_answer(result)[0].to_json()
