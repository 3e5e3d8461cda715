"""Questions about the whole cluster: pending pods, elections, and the check of manifests."""

from __future__ import annotations

from io import BytesIO
from typing import Annotated, Final

from msgspec import Meta

from kschedctl.common.findings import Severity
from kschedctl.linter.cluster import ClusterOverlay
from kschedctl.linter.run import LintRequest, LintResult, lint
from kschedctl.linter.selection import selected_rules
from kschedctl.questions.answer import Answer
from kschedctl.questions.face import SchedulingCluster
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.leader.analysis import leader
from kschedctl.questions.lint.analysis import report
from kschedctl.questions.pending.analysis import PendingRequest, pending
from kschedctl.sources.snapshot.files import STDIN
from kschedctl.web.questions.asked import MOST_UNPACKED, Asked, NoParameters, Query

#: The name of the body in findings.
BODY: Final = "request"


class PendingQuery(Query, frozen=True, kw_only=True):
    """The selection of pending pods."""

    namespace: Annotated[str, Meta(description="The namespace; all without it.")] = ""
    selector: Annotated[str, Meta(description="Pods with matching labels only.")] = ""


class ChangesQuery(PendingQuery, frozen=True, kw_only=True):
    """The selection of pending pods, and the search for changes."""

    changes: Annotated[int, Meta(description="Search for up to N changes that help.", ge=0, le=20)] = 3


class LintQuery(Query, frozen=True, kw_only=True):
    """The options of lint."""

    namespace: Annotated[str, Meta(description="Namespace of objects that do not set one.")] = ""
    select: Annotated[tuple[str, ...], Meta(description="Codes, prefixes of codes or names of the rules.")] = ()
    extend_select: Annotated[tuple[str, ...], Meta(description="Rules to check in addition.")] = ()
    ignore: Annotated[tuple[str, ...], Meta(description="Rules not to check.")] = ()
    severity: Annotated[Severity, Meta(description="The least severe findings to report.")] = Severity.INFO


def show_pending(cluster: SchedulingCluster, asked: Asked[PendingQuery], handle: AnalysisHandle) -> Answer:
    """List pending pods by cause and age."""
    request = PendingRequest(namespace=asked.query.namespace, selector=asked.query.selector, changes=0)
    return pending(asked.over(cluster, handle), request, handle)


def find_changes(cluster: SchedulingCluster, asked: Asked[ChangesQuery], handle: AnalysisHandle) -> Answer:
    """List pending pods by cause and age, and the fewest changes that would schedule most of them."""
    query = asked.query
    request = PendingRequest(namespace=query.namespace, selector=query.selector, changes=query.changes)
    return pending(asked.over(cluster, handle), request, handle)


def show_leaders(cluster: SchedulingCluster, asked: Asked[NoParameters], handle: AnalysisHandle) -> Answer:
    """Show the leader of every election, and when another candidate would take over."""
    return leader(cluster)


def lint_manifest(cluster: SchedulingCluster, asked: Asked[LintQuery], handle: AnalysisHandle) -> Answer:
    """Find the problems of manifests before they are applied to the cluster."""
    return report(linted_manifest(cluster, asked, handle))


def linted_manifest(cluster: SchedulingCluster, asked: Asked[LintQuery], handle: AnalysisHandle) -> LintResult:
    """Check the manifests of a request.

    Raises
    ------
    InputError
        If there are none.
    """
    content = asked.content()
    query = asked.query
    changed = asked.over(cluster, handle)
    request = LintRequest(
        rules=selected_rules(query.select, query.extend_select, query.ignore, complete=True),
        namespace=query.namespace,
        release=changed.release_choice.release,
        overlay=lambda given: ClusterOverlay(changed, given, namespace=query.namespace),
        least=query.severity,
        # A name of its own: for unnamed input, comments of Helm would name files of this machine.
        stdin_name=BODY,
        max_unpacked=MOST_UNPACKED,
    )
    linted = lint([STDIN], request, BytesIO(content))
    for what in linted.unread:
        handle.warn(what)
    return linted
