"""Doubts that make an answer incomplete, and warnings that do not."""

import pytest
from msgspec import UNSET

from kschedctl.objects.releases.choice import choose_release
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.questions.answer import Envelope, merged_envelope
from kschedctl.questions.loading import loaded_cluster
from kschedctl.questions.provenance import Provenance, envelope, provenance
from kschedctl.questions.verify.analysis import as_stored
from kschedctl.scheduler.framework.cycle_state import NotModelled
from kschedctl.scheduler.preemption.budgets import get_pod_disruption_budgets
from kschedctl.sources.snapshot.load import Snapshot
from kschedctl.trials.completeness import Missing
from tests.builders import make_cluster, make_node, make_object, make_pod

CLUSTER = make_cluster([make_node("a")])
TWICE = "Pod shop/web is in a.yaml and again in b.yaml; the later counts"
OWN = "Default plugin is explicitly re-configured; overriding: NodeAffinity"


def rests_on(
    version: str = "v1.36.1",
    *,
    missing: tuple[Missing, ...] = (),
    doubts: tuple[str, ...] = (),
    warnings: tuple[str, ...] = (),
    not_modelled: tuple[NotModelled, ...] = (),
) -> Envelope:
    choice = choose_release("", version, ())
    given = Provenance(
        release_choice=choice, paths=("here",), n_pods=0, missing=missing, doubts=doubts, warnings=warnings
    )
    return Envelope(**envelope(CLUSTER, given, not_modelled))


@pytest.mark.parametrize(
    ("answer", "complete"),
    [
        pytest.param(rests_on(), True, id="nothing to be careful about"),
        pytest.param(rests_on("v1.29.4"), False, id="the cluster's own release is not modelled"),
        pytest.param(rests_on(doubts=(TWICE,)), False, id="an object is in the snapshot twice"),
        pytest.param(rests_on(missing=(Missing("PriorityClass", "it", "so"),)), False, id="something is missing"),
        pytest.param(rests_on(not_modelled=(NotModelled("this", "so"),)), False, id="something is not modelled"),
        pytest.param(rests_on(warnings=(OWN,)), True, id="a configuration is taken otherwise than one may think"),
    ],
)
def test_an_answer_is_complete_where_nothing_puts_it_in_doubt(answer: Envelope, complete: bool) -> None:
    assert answer.complete is complete


def test_doubts_are_warnings_too_and_come_first() -> None:
    answer = rests_on("v1.29.4", doubts=(TWICE,), warnings=(OWN,))
    assert answer.warnings == (*(answer.doubts or ()), OWN)
    assert [text.partition(" ")[0] for text in answer.warnings] == ["not", "Pod", "Default"]


def test_several_answers_share_their_doubts() -> None:
    assert merged_envelope((rests_on(), rests_on(doubts=(TWICE,)), rests_on(doubts=(TWICE,)))).doubts == (TWICE,)
    assert merged_envelope((rests_on(), rests_on(warnings=(OWN,)))).doubts is UNSET


def test_a_computed_status_of_a_budget_is_said_where_budgets_matter() -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    budget = make_object(PodDisruptionBudget, "web", namespace="shop", spec=spec)
    pods = [make_pod(name, namespace="shop", node="a", labels={"app": "web"}) for name in ("web-1", "web-2")]
    here = Snapshot(make_cluster([make_node("a")], pods, budget), ("here",), None, {})
    cluster = loaded_cluster(here, kubernetes_version="1.36")
    assert provenance(cluster).warnings == ()
    (warning,) = provenance(cluster, many=True).warnings
    assert warning == (
        "a PodDisruptionBudget has no current status, so it is computed as the disruption controller does: "
        "shop/web allows 1 disruption (2 healthy, 1 desired)"
    )
    assert provenance(cluster, evicts=True).warnings == (warning,)
    # kube-scheduler itself computes nothing: to compare with it, the status is as stored.
    assert [each.allowed for each in get_pod_disruption_budgets(as_stored(cluster).cluster)] == [0]
