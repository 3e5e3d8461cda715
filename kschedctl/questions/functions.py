"""The public functions that need no loaded cluster; `kschedctl.lint` is in ``linting``."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kschedctl.common.argument_types import checked_arguments
from kschedctl.common.findings import Severity
from kschedctl.linter.selection import rules_of
from kschedctl.questions.batch.analysis import Decider
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.lint.analysis import lint as lint_manifests
from kschedctl.questions.lint.analysis import pages, report
from kschedctl.questions.lint.answer import LintReport, RulePages
from kschedctl.questions.lint.request import ManifestChoice, RuleChoice, lint_request
from kschedctl.questions.sweep.analysis import SweepRequest, configuration, sweep
from kschedctl.questions.sweep.answer import Sweep

if TYPE_CHECKING:
    from kschedctl.questions.scheduling_cluster import SchedulingCluster


@checked_arguments
def rules(*names: str) -> RulePages:
    """Return the documentation of lint rules, as ``kschedctl rule``.

    Parameters
    ----------
    *names : str
        Codes, prefixes of codes or names of rules; by default all rules.

    Raises
    ------
    InputError
        If a name selects no rule.

    Examples
    --------
    >>> import kschedctl
    >>> [rule.name for rule in kschedctl.rules("KS201").items]
    ['rollout-needs-spare-domain']
    """
    found = dict.fromkeys(rule for name in names or ("ALL",) for rule in rules_of(name))
    return pages(sorted(found, key=lambda rule: rule.code))


@checked_arguments
def run_sweep(
    plan: str | Path,
    *,
    jobs: int = 0,
    results: str | Path = "",
    resume: bool = False,
    handle: AnalysisHandle | None = None,
) -> Sweep:
    """Run the cases of a plan, as ``kschedctl sweep``; if the run is cancelled, the answer covers the completed cases.

    Parameters
    ----------
    plan : str or Path
        The file of the plan.
    jobs : int
        The number of processes; 0 for one per core.
    results : str or Path
        The file to which rows are written as they are computed; empty for none.
    resume : bool
        True to continue an existing file of results.
    handle : AnalysisHandle, optional
        Shows progress and can cancel the run.

    Raises
    ------
    InputError
        If the plan, its only snapshot or the file of results cannot be used.
    """
    request = SweepRequest(plan=str(plan), jobs=jobs, results=str(results), resume=resume)
    return sweep(request, handle or AnalysisHandle())


@checked_arguments
def case_configuration(plan: str | Path, case: int) -> dict[str, Any]:
    """Return the KubeSchedulerConfiguration of a case of a plan, as ``kschedctl sweep --config-of``; it runs nothing.

    Parameters
    ----------
    plan : str or Path
        The file of the plan.
    case : int
        The number of the case, from 1.

    Raises
    ------
    InputError
        If the plan cannot be used, or has no such case.

    Examples
    --------
    >>> import kschedctl
    >>> kschedctl.case_configuration("fixtures/shop/sweeps/tuning.yaml", 10)["profiles"][0]["plugins"]["score"]
    {'enabled': [{'name': 'NodeResourcesFit', 'weight': 1}], 'disabled': [{'name': 'PodTopologySpread'}]}
    """
    return configuration(str(plan), case)


@checked_arguments
def decide_cases(
    cases: Iterable[Mapping[str, Any]], *, kubernetes_version: str = "", feature_gates: Mapping[str, bool] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the answers to cases of objects and a pod, as ``kschedctl batch``.

    Parameters
    ----------
    cases : iterable of mapping
        The cases, each with the fields of a line of ``kschedctl batch``: ``id``, ``objects``, ``pod`` and ``config``.
    kubernetes_version : str
        The release whose rules apply; by default the newest.
    feature_gates : mapping of str to bool, optional
        The feature gates that differ from their defaults.

    Raises
    ------
    UnsupportedError
        If the version or a feature gate is not modelled.

    Examples
    --------
    >>> import kschedctl
    >>> node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}, "status": {"allocatable": {"pods": "9"}}}
    >>> pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}
    >>> [answer["best"] for answer in kschedctl.decide_cases([{"id": "1", "objects": [node], "pod": pod}])]
    [['a']]
    """
    decider = Decider(kubernetes_version, feature_gates or {})
    lines = ((number, json.dumps(case).encode()) for number, case in enumerate(cases, 1))
    return (json.loads(decider.answer(line)[0]) for line in lines)


# ``kschedctl.lint``: the check of manifests, for programs.


@checked_arguments
def lint(
    paths: str | Path | Iterable[str | Path],
    *,
    cluster: "SchedulingCluster | str | Path | None" = None,
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
    cluster : SchedulingCluster, str or Path, optional
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
        cluster=(str(cluster),) if isinstance(cluster, str | Path) else cluster.engine if cluster is not None else (),
        namespace=namespace,
        kubernetes_version=kubernetes_version,
        feature_gates=feature_gates or {},
        render=render,
    )
    rules = RuleChoice(
        select=_as_sequence(select),
        extend_select=_as_sequence(extend_select),
        ignore=_as_sequence(ignore),
        severity=severity,
        settings=str(settings),
    )
    handle = handle or AnalysisHandle()
    return report(lint_manifests(manifests.paths, lint_request(manifests, rules, handle), handle))


def _as_sequence(given: str | Sequence[str]) -> Sequence[str]:
    return (given,) if isinstance(given, str) else given
