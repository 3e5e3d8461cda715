"""``kschedctl.lint``: the check of manifests, for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kschedctl.common.argument_types import checked_arguments
from kschedctl.common.findings import Severity
from kschedctl.questions.analyses.handle import AnalysisHandle
from kschedctl.questions.analyses.lint.analysis import lint as lint_manifests
from kschedctl.questions.analyses.lint.answer import report
from kschedctl.questions.answers.lint import LintReport
from kschedctl.questions.requests.lint import ManifestChoice, RuleChoice, lint_request

if TYPE_CHECKING:
    from kschedctl.trials.loaded_cluster import LoadedCluster


@checked_arguments
def lint(
    paths: str | Path | Iterable[str | Path],
    *,
    cluster: LoadedCluster | str | Path | None = None,
    namespace: str = "",
    select: str | Sequence[str] = (),
    extend_select: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
    severity: Severity = Severity.INFO,
    settings: str | Path = "",
    kubernetes_version: str = "",
    feature_gates: Mapping[str, bool] | None = None,
    render: bool = False,
    handle: AnalysisHandle | None = None,
) -> LintReport:
    """Find the problems of manifests before they are applied.

    Parameters
    ----------
    paths : str, Path or iterable of them
        Files, folders and archives; ``-`` is standard input.
    cluster : LoadedCluster, str or Path, optional
        The cluster that the manifests will be applied to, for rules that need a cluster; ``kschedctl.load`` makes it.
    namespace : str
        The namespace of objects that name none.
    select : str or sequence of str
        Codes, prefixes of codes, or names of the only rules to check; by default the selection in the settings.
    extend_select : str or sequence of str
        Rules to check in addition.
    ignore : str or sequence of str
        Rules not to check.
    severity : Severity
        The least severe findings that are reported.
    settings : str or Path
        The settings file; by default the nearest ``.kschedctl.yaml``, or ``pyproject.toml`` with settings, in the
        folders above.
    kubernetes_version : str
        The release of the API server that receives the manifests; by default the cluster's, else the newest.
    feature_gates : mapping of str to bool, optional
        The feature gates that differ from their defaults; a loaded cluster has its own.
    render : bool
        True to render kustomizations and charts first, with the installed kustomize or kubectl, and helm.
    handle : AnalysisHandle, optional
        Receives warnings about files that were not read.

    Raises
    ------
    InputError
        If a path, a rule or the settings are wrong, or no Kubernetes object is found.
    UnsupportedError
        If a version or feature gate is not modelled.

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
        cluster=(str(cluster),) if isinstance(cluster, str | Path) else cluster or (),
        namespace=namespace,
        kubernetes_version=kubernetes_version,
        feature_gates=feature_gates or {},
        render=render,
    )
    rules = RuleChoice(
        select=_words(select),
        extend_select=_words(extend_select),
        ignore=_words(ignore),
        severity=severity,
        settings=str(settings),
    )
    handle = handle or AnalysisHandle()
    return report(lint_manifests(manifests.paths, lint_request(manifests, rules, handle), handle))


def _words(given: str | Sequence[str]) -> Sequence[str]:
    return (given,) if isinstance(given, str) else given
