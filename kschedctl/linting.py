"""``kschedctl.lint``: what is wrong in manifests, for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kschedctl.analyses.handle import Handle
from kschedctl.analyses.lint.analysis import lint as lint_manifests
from kschedctl.analyses.lint.answer import report
from kschedctl.answers.lint import LintReport
from kschedctl.findings.finding import Severity
from kschedctl.requests.lint import ManifestChoice, RuleChoice, lint_request

if TYPE_CHECKING:
    from kschedctl.loaded_cluster import LoadedCluster


def lint(
    paths: str | Path | Iterable[str | Path],
    *,
    cluster: LoadedCluster | None = None,
    namespace: str = "",
    select: Sequence[str] = (),
    extend_select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    severity: Severity = Severity.INFO,
    settings: str | Path = "",
    kubernetes_version: str = "",
    handle: Handle | None = None,
) -> LintReport:
    """Find the problems of manifests before they are applied.

    Parameters
    ----------
    paths : str, Path or iterable of them
        Files, folders and archives; ``-`` is standard input.
    cluster : LoadedCluster, optional
        The cluster that the manifests will be applied to, for the rules that need one; ``kschedctl.load`` makes one.
    namespace : str
        The namespace of objects that name none.
    select : sequence of str
        Codes, beginnings of codes, or names of the only rules that are checked; by default those of the settings.
    extend_select : sequence of str
        Rules that are checked as well.
    ignore : sequence of str
        Rules that are not checked.
    severity : Severity
        The least severe findings that are reported.
    settings : str or Path
        The file of settings; by default the nearest ``.kschedctl.yaml``, or ``pyproject.toml`` with them, upward.
    kubernetes_version : str
        The release whose API server takes the manifests; by default that of the cluster, else the newest.
    handle : Handle, optional
        Takes warnings about files that were not read.

    Raises
    ------
    InputError
        If a path, a rule or the settings are wrong, or no Kubernetes object is found.

    Examples
    --------
    >>> import kschedctl
    >>> cluster = kschedctl.load("fixtures/shop/cluster")
    >>> answer = kschedctl.lint("fixtures/shop/manifests", cluster=cluster, select=["KS501"])
    >>> [finding.object for finding in answer.findings]
    ['Pod/ml/train-3', 'Pod/data/warehouse-0']
    """
    given = (paths,) if isinstance(paths, str | Path) else paths
    manifests = ManifestChoice(
        paths=tuple(map(str, given)),
        cluster=cluster or (),
        namespace=namespace,
        kubernetes_version=kubernetes_version,
    )
    rules = RuleChoice(
        select=select, extend_select=extend_select, ignore=ignore, severity=severity, settings=str(settings)
    )
    handle = handle or Handle()
    return report(lint_manifests(manifests.paths, lint_request(manifests, rules, handle), handle))
