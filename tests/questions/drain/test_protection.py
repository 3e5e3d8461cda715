"""Disruption budgets that select no pod, workloads of which all pods go at once, and annotations that do not help."""

from typing import Any

import pytest
from msgspec.structs import replace

from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import Deployment
from kschedctl.questions.drain.answer import AT_ONCE, IDLE, MISTYPED, UNHEEDED
from tests.builders import make_object
from tests.questions.drain.test_cures import ask, deployment, flat, pdb

WEB = deployment(["a", "a"])
START = "budget default/web selects no pod: it wants"
ALL = "so all 2 go at once"


def selecting(labels: dict[str, str], name: str = "web", **selector: Any) -> Any:
    return pdb(name, minAvailable=1, healthy=0, desired=0, selector={"matchLabels": labels, **selector})


def idle_deployment(name: str) -> Any:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c"}]}}
    return make_object(Deployment, name, namespace="default", spec={"replicas": 0, "template": template})


@pytest.mark.parametrize(
    ("case", "causes", "change"),
    [
        pytest.param(
            (WEB, selecting({"app": "webb"})),
            [(MISTYPED, f"{START} app=webb, and the pods of Deployment default/web have app=web, {ALL}")],
            "correct the selector of budget default/web first: app=web instead of app=webb",
            id="value",
        ),
        pytest.param(
            (WEB, selecting({"app.kubernetes.io/app": "web"}, "other")),
            [
                (
                    MISTYPED,
                    "budget default/other selects no pod: it wants app.kubernetes.io/app=web, "
                    f"and the pods of Deployment default/web have app=web, {ALL}",
                )
            ],
            "correct the selector of budget default/other first: app=web instead of app.kubernetes.io/app=web",
            id="key",
        ),
        pytest.param(
            (WEB, selecting({"app": "frontend"}, "web-pdb")),
            [
                (
                    MISTYPED,
                    "budget default/web-pdb selects no pod: it wants app=frontend, "
                    f"and the pods of Deployment default/web have app=web, {ALL}",
                )
            ],
            "correct the selector of budget default/web-pdb first: app=web instead of app=frontend",
            id="named after the workload",
        ),
        pytest.param(
            (WEB, selecting({}, matchExpressions=[{"key": "app", "operator": "In", "values": ["Web"]}])),
            [(MISTYPED, f"{START} app=Web, and the pods of Deployment default/web have app=web, {ALL}")],
            "correct the selector of budget default/web first: app=web instead of app=Web",
            id="expression",
        ),
        pytest.param(
            (deployment(["a", "b"]), selecting({"app": "webb"})),
            [
                (
                    MISTYPED,
                    f"{START} app=webb, and the pods of Deployment default/web have app=web, "
                    "so it does not protect them",
                )
            ],
            "correct the selector of budget default/web first: app=web instead of app=webb",
            id="one of two replicas",
        ),
        pytest.param(
            (WEB, selecting({"app": "mail"}, "mail")),
            [
                (AT_ONCE, "all 2 pods of Deployment default/web go at once: no disruption budget selects them"),
                (IDLE, "budget default/mail selects no pod"),
            ],
            "",
            id="another workload's budget",
        ),
        pytest.param(
            (WEB, selecting({"app": "mail"}, "mail"), idle_deployment("mail")),
            [(AT_ONCE, "all 2 pods of Deployment default/web go at once: no disruption budget selects them")],
            "",
            id="the budget of a workload without replicas",
        ),
        pytest.param(
            (WEB, pdb("web", healthy=2, minAvailable=1), selecting({"app": "webb"}, "old")),
            [(IDLE, "budget default/old selects no pod")],
            "",
            id="the pods have a budget",
        ),
        pytest.param((WEB, pdb("web", healthy=2, minAvailable=1)), [], "", id="a budget"),
        pytest.param((deployment(["a", "b"]),), [], "", id="a replica stays"),
    ],
)
def test_budgets_that_select_no_pod(case: tuple[Any, ...], causes: list[tuple[str, str]], change: str) -> None:
    answer = ask(*flat(case))
    assert [(each.rule, each.cause) for each in answer.unprotected] == causes
    assert [each.summary for each in answer.suggestions] == ([change] if change else [])
    assert (MISTYPED in [rule for rule, _ in causes]) == ("selects no pod" in answer.summary)


def test_the_command_replaces_the_selector() -> None:
    answer = ask(*WEB, selecting({"tier": "web", "part": "x"}), names=("a",))
    assert not answer.suggestions
    (cure,) = ask(*WEB, selecting({"name": "web"})).suggestions
    assert cure.commands == (
        "kubectl patch pdb web -n default --type=merge "
        '-p \'{"spec": {"selector": {"matchLabels": {"name": null, "app": "web"}}}}\'',
    )
    assert cure.then == "a is drained, 2 pods move; the budget protects the pods of Deployment default/web"


def test_a_corrected_budget_can_forbid_the_drain() -> None:
    (cure,) = ask(*deployment(["a"]), selecting({"app": "webb"})).suggestions
    assert cure.then == (
        "the drain then waits: budget default/web wants 1 healthy pod and Deployment web has one replica, "
        "so no eviction is ever allowed"
    )


def test_evictions_without_budgets_are_not_checked() -> None:
    answer = ask(*WEB, selecting({"app": "webb"}), disable_eviction=True)
    assert (answer.unprotected, answer.suggestions) == ((), ())


@pytest.mark.parametrize(
    ("annotations", "causes"),
    [
        pytest.param(
            {"karpenter.sh/do-not-disrupt": "true"},
            ["web-1-0 has the annotation karpenter.sh/do-not-disrupt: true, which a drain does not heed"],
            id="Karpenter",
        ),
        pytest.param(
            {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
            [
                "web-1-0 has the annotation cluster-autoscaler.kubernetes.io/safe-to-evict: false, "
                "which a drain does not heed"
            ],
            id="Cluster Autoscaler",
        ),
        pytest.param({"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}, [], id="safe"),
    ],
)
def test_annotations_for_autoscalers_do_not_stop_a_drain(annotations: dict[str, str], causes: list[str]) -> None:
    objects = [
        replace(each, metadata=replace(each.metadata, annotations=annotations)) if isinstance(each, Pod) else each
        for each in deployment(["a"])
    ]
    found = [each.cause for each in ask(*objects).unprotected if each.rule == UNHEEDED]
    assert [cause.partition("/")[2] for cause in found] == causes
