"""The computed status of disruption budgets; ``tests/live/test_real_budgets.py`` compares it with the controller's."""

from typing import Any

import pytest

from kschedctl.cluster.cluster import Cluster
from kschedctl.controllers.disruption import (
    always_forbids,
    budgets_after,
    computed_budgets,
    counted_budget,
    desired_healthy,
    enough_pods,
    forbids,
    with_computed_status,
    without_computed_status,
)
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import Deployment, PodDisruptionBudget, ReplicaSet, StatefulSet
from tests.builders import make_cluster, make_node, make_object, make_pod

READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
UNREADY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
WEB = ("apps/v1", "ReplicaSet", "web-1")
JOB = ("batch/v1", "Job", "web")


def budget(status: Any = None, generation: int = 0, **spec: Any) -> PodDisruptionBudget:
    fields: dict[str, Any] = {"spec": {"selector": {"matchLabels": {"app": "web"}}, **spec}}
    if status is not None:
        fields["status"] = status
    made = make_object(PodDisruptionBudget, "web", namespace="default", **fields)
    return type(made)(
        metadata=type(made.metadata)(name="web", namespace="default", generation=generation),
        spec=made.spec,
        status=made.status,
    )


def web(n: int, *, ready: int | None = None, owner: tuple[str, str, str] | None = WEB, **pod: Any) -> list[Pod]:
    """Return running pods of one workload, the first `ready` of them ready (by default all)."""
    prefix = owner[1] if owner else "bare"
    return [
        make_pod(
            f"{prefix.lower()}-{i}",
            node="a",
            labels={"app": "web", "pod-template-hash": "1"},
            owner=owner,
            **{"status": READY if ready is None or i < ready else UNREADY, **pod},
        )
        for i in range(n)
    ]


def deployment(replicas: int) -> Deployment:
    return make_object(Deployment, "web", namespace="default", spec={"replicas": replicas})


def cluster(pods: list[Pod], *objects: Any) -> Cluster:
    return make_cluster([make_node("a")], pods, *objects)


def counts(found: PodDisruptionBudget) -> tuple[int, int, int, int]:
    status = found.status
    return status.expected_pods, status.current_healthy, status.desired_healthy, status.disruptions_allowed or 0


@pytest.mark.parametrize(
    ("spec", "pods", "objects", "expected"),
    [
        pytest.param({"minAvailable": 2}, web(3), [deployment(5)], (3, 3, 2, 1), id="a number counts the pods"),
        pytest.param({"minAvailable": "50%"}, web(3), [deployment(3)], (3, 3, 2, 1), id="50 % of 3 rounds up to 2"),
        pytest.param({"minAvailable": "50%"}, web(3), [deployment(5)], (5, 3, 3, 0), id="replicas that are missing"),
        pytest.param({"maxUnavailable": "10%"}, web(3), [deployment(3)], (3, 3, 2, 1), id="10 % of 3 rounds up to 1"),
        pytest.param({"maxUnavailable": 5}, web(3), [deployment(3)], (3, 3, 0, 3), id="more than there are"),
        pytest.param({"maxUnavailable": 0}, web(3), [deployment(3)], (3, 3, 3, 0), id="none may go"),
        pytest.param({"minAvailable": 1}, web(3, ready=1), [deployment(3)], (3, 1, 1, 0), id="two are not ready"),
        pytest.param({"maxUnavailable": 1}, web(3), [], (3, 3, 2, 1), id="no Deployment here: its pods are counted"),
        pytest.param(
            {"maxUnavailable": 1},
            web(2, owner=("apps/v1", "StatefulSet", "web")),
            [make_object(StatefulSet, "web", namespace="default", spec={"replicas": 3})],
            (3, 2, 2, 0),
            id="a StatefulSet with a replica to come",
        ),
        pytest.param(
            {"maxUnavailable": 1},
            web(2),
            [make_object(ReplicaSet, "web-1", namespace="default", spec={"replicas": 4})],
            (4, 2, 3, 0),
            id="a ReplicaSet without a Deployment",
        ),
        pytest.param({"minAvailable": 1}, web(2, owner=None), [], (2, 2, 1, 1), id="a number for bare pods"),
        pytest.param({"maxUnavailable": 1}, web(2, owner=None), [], (0, 2, 0, 0), id="bare pods are not expected"),
        pytest.param(
            {"maxUnavailable": 1}, [*web(3), *web(1, owner=None)], [deployment(3)], (3, 4, 2, 2), id="one bare pod more"
        ),
        pytest.param({"maxUnavailable": 1}, web(1, owner=JOB), [], (0, 0, 0, 0), id="a Job has no scale"),
        pytest.param({"minAvailable": 1}, web(2, owner=JOB), [], (2, 2, 1, 1), id="a number for the pods of a Job"),
        pytest.param({"minAvailable": 1}, [], [], (0, 0, 1, 0), id="no pod"),
        pytest.param({}, web(3), [deployment(3)], (0, 3, 0, 0), id="no limit"),
        pytest.param({"minAvailable": 1}, web(2, terminating=True), [], (2, 0, 1, 0), id="pods that are being deleted"),
        pytest.param({"minAvailable": 1}, web(2, status={}), [], (2, 2, 1, 1), id="hand-written pods count as ready"),
    ],
)
def test_the_status_is_that_of_the_disruption_controller(
    spec: dict[str, Any], pods: list[Pod], objects: list[Any], expected: tuple[int, int, int, int]
) -> None:
    assert counts(counted_budget(cluster(pods, *objects), budget(**spec))) == expected


ONE = {"disruptionsAllowed": 1, "currentHealthy": 9, "desiredHealthy": 8, "expectedPods": 9}


@pytest.mark.parametrize(
    ("given", "computed"),
    [
        pytest.param(budget(minAvailable=2), True, id="no status"),
        pytest.param(budget({}, minAvailable=2), True, id="an empty status"),
        pytest.param(budget({"disruptionsAllowed": 0}, minAvailable=2), False, id="a hand-written status"),
        pytest.param(budget({**ONE, "observedGeneration": 1}, 1, minAvailable=2), False, id="this generation"),
        pytest.param(budget({**ONE, "observedGeneration": 1}, 2, minAvailable=2), True, id="an older generation"),
        pytest.param(budget({"disruptionsAllowed": 0}, 1, minAvailable=2), True, id="not yet processed"),
    ],
)
def test_a_current_status_stays(given: PodDisruptionBudget, *, computed: bool) -> None:
    before = cluster(web(3), given)
    after = with_computed_status(before)
    (found,) = after.list(PodDisruptionBudget)
    assert bool(computed_budgets(after)) is computed
    if computed:
        assert counts(found) == (3, 3, 2, 1)
        (stored,) = without_computed_status(after).list(PodDisruptionBudget)
        assert stored.status.disruptions_allowed == 0
        # The pods have changed since: it is computed again.
        (again,) = with_computed_status(after.with_pods(removed=[0])).list(PodDisruptionBudget)
        assert counts(again) == (2, 2, 2, 0)
    else:
        assert (found, without_computed_status(after)) == (given, after)


def test_pods_that_come_change_nothing_for_a_controller_without_a_scale() -> None:
    given = with_computed_status(cluster(web(2, owner=JOB), budget(maxUnavailable=1)))
    (after,) = budgets_after(given, web(1, owner=JOB)[0], 1)
    assert after.status.disruptions_allowed == 0


@pytest.mark.parametrize(
    ("field", "value", "n", "forbidden", "desired", "enough"),
    [
        pytest.param("minAvailable", 1, 1, True, 1, 2, id="one replica"),
        pytest.param("minAvailable", 1, 2, False, 1, 2, id="one of two"),
        pytest.param("minAvailable", "50%", 1, True, 1, 2, id="half of one rounds up to it"),
        pytest.param("minAvailable", "67%", 3, True, 3, 4, id="67 % of 3 rounds up to 3"),
        pytest.param("minAvailable", "100%", 3, True, 3, None, id="all, for any number of pods"),
        pytest.param("maxUnavailable", 0, 3, True, 3, None, id="none, for any number of pods"),
        pytest.param("maxUnavailable", "10%", 3, False, 2, 3, id="10 % of 3 rounds up to 1"),
        pytest.param("maxUnavailable", 1, 1, False, 0, 1, id="one of one"),
    ],
)
def test_limits(field: str, value: int | str, n: int, forbidden: bool, desired: int, enough: int | None) -> None:
    assert forbids(field, value, n) is forbidden
    assert desired_healthy(field, value, n) == desired
    assert enough_pods(field, value, n) == enough
    assert always_forbids(field, value) is (enough is None)
