"""Rollouts that hang: the cause in the first line, and the changes with which the rollout finishes."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from kschedctl.objects.core import Condition
from kschedctl.objects.pod import PodStatus
from kschedctl.objects.policies import ResourceQuota
from kschedctl.objects.volume import CSIDriver, VolumeAttachment
from kschedctl.objects.workload import Deployment
from kschedctl.questions.rollout.answer import RolledOut
from kschedctl.trials.simulate.rollout import restarted
from tests.builders import (
    make_claim,
    make_cluster,
    make_container,
    make_node,
    make_object,
    make_pod,
    make_storage_class,
    make_volume,
    scheduling_cluster,
)
from tests.trials.simulate.test_rollout import (
    APART,
    HALF,
    HOST_PORT,
    ON_2,
    deployment,
    let_in,
    members,
    nodes,
    pods_of,
    stateful_set,
    surge,
)

DISK: dict[str, Any] = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}


def disk(mode: str = "ReadWriteOnce", **volume: Any) -> list[Any]:
    return [
        make_claim("data", modes=[mode], bound="pv"),
        make_volume("pv", modes=[mode], claim="default/data", **volume),
        make_storage_class(),
    ]


def ask(web: Any, pods: list[Any], *objects: Any, n: int = 2) -> RolledOut:
    cluster = make_cluster(nodes(n), [let_in(pod) for pod in pods], web, *objects)
    return scheduling_cluster(cluster).rollout(restarted(web))


def quota(cpu: str) -> ResourceQuota:
    amount = {"requests.cpu": cpu}
    status = {"hard": amount, "used": amount}
    return make_object(ResourceQuota, "compute", namespace="default", spec={"hard": amount}, status=status)


ONE = {"containers": [make_container(requests={"cpu": "1"})]}
HUGE = {"containers": [make_container(requests={"cpu": "8"})]}
KEPT = ", and maxUnavailable 0 keeps the old pods until a new one is ready; 0 of 2 pods are new"
STRATEGY, NODE, RECREATE = "maxSurge: 0, maxUnavailable: 1", "add a node like n0", "strategy Recreate"
LATER = "matchLabelKeys: [pod-template-hash] in the anti-affinity term, for later rollouts"
SHARED = "move claim default/data to storage with ReadWriteMany, such as NFS or CephFS"


@pytest.mark.parametrize(
    ("pod", "objects", "cause", "changes"),
    [
        pytest.param(
            APART,
            [],
            "the rollout stalls at step 1: the new pod fits on none of 2 nodes: all 2 nodes have a pod of Deployment "
            f"default/web, from which anti-affinity keeps the pod apart{KEPT}",
            [STRATEGY, NODE, RECREATE, LATER],
            id="anti-affinity",
        ),
        pytest.param(
            HALF,
            [],
            "the rollout stalls at step 1: the new pod fits on none of 2 nodes: no node has 3 cpu free: "
            f"the most is 1, on n0{KEPT}",
            [STRATEGY, NODE, RECREATE],
            id="no room for the surge",
        ),
        pytest.param(
            HOST_PORT,
            [],
            "the rollout stalls at step 1: the new pod fits on none of 2 nodes: host port 80/TCP is taken on all "
            f"2 nodes by Deployment default/web{KEPT}",
            [STRATEGY, NODE, RECREATE],
            id="host port",
        ),
        pytest.param(
            HUGE,
            [],
            "the rollout stalls at step 1: the new pod fits on none of 2 nodes: no node has 8 cpu, "
            f"the largest offers 4{KEPT}",
            ["kubectl rollout undo, until the template is repaired"],
            id="a revision that fits nowhere",
        ),
        pytest.param(
            ONE,
            [quota("2")],
            "the rollout does not start: the API server refuses a new pod: exceeded quota: compute, "
            "requested: requests.cpu=1, used: requests.cpu=2, limited: requests.cpu=2, "
            "and maxUnavailable 0 keeps the old pods until a new one is ready",
            [STRATEGY, RECREATE, "raise the quota by what one more pod requests"],
            id="a quota that refuses the surge",
        ),
    ],
)
def test_cause_and_changes(pod: dict[str, Any], objects: list[Any], cause: str, changes: list[str]) -> None:
    web = deployment(2, surge(1, 0), pod)
    answer = ask(web, pods_of(deployment(2) if pod is HUGE else web, ON_2), *objects)
    assert answer.summary == f"default/web: {cause}"
    assert [one.summary for one in answer.suggestions] == changes
    assert all(one.untried or one.then.startswith("the rollout finishes: ") for one in answer.suggestions)
    assert not any("delete pod" in line for one in answer.suggestions for line in one.commands)


def test_a_node_to_add_is_suggested_once_with_its_alternatives() -> None:
    web = deployment(2, surge(1, 0), HALF)
    zones = [make_node(f"n{i}", zone=f"z{i}") for i in range(2)]
    cluster = make_cluster(zones, [let_in(pod) for pod in pods_of(web, ON_2)], web)
    found = [one.summary for one in scheduling_cluster(cluster).rollout(restarted(web)).suggestions]
    assert [one for one in found if one.startswith(NODE)] == ["add a node like n0 in zone z0 or z1"]


def test_an_undo_is_no_cure_for_missing_capacity() -> None:
    web = deployment(5, surge(2, 1), HALF)
    answer = ask(web, pods_of(web, ON_2), n=3)
    assert not answer.finished
    assert not any("undo" in one.summary for one in answer.suggestions)


def test_a_quota_is_free_again_once_an_old_pod_is_gone() -> None:
    web = deployment(2, surge(1, 1), ONE)
    assert ask(web, pods_of(web, ON_2), quota("2")).finished


@pytest.mark.parametrize(
    ("objects", "n", "finishes"),
    [
        pytest.param(disk(), 2, False, id="ReadWriteOnce, and the old node is full"),
        pytest.param(disk(), 1, True, id="one node"),
        pytest.param(disk("ReadWriteMany"), 2, True, id="ReadWriteMany"),
        pytest.param(disk(source={"nfs": {"server": "x", "path": "/"}}), 2, True, id="NFS is not attached"),
        pytest.param(
            [*disk(), make_object(CSIDriver, "csi.example.com", spec={"attachRequired": False})],
            2,
            True,
            id="the driver attaches nothing",
        ),
        pytest.param(
            disk(source={"csi": {"driver": "efs.csi.aws.com", "volumeHandle": "h"}}), 2, True, id="a shared file system"
        ),
    ],
)
def test_volume_that_attaches_to_one_node(objects: list[Any], n: int, finishes: bool) -> None:
    web = deployment(1, surge(1, 0), {**DISK, **HALF} if n > 1 else DISK)
    answer = ask(web, pods_of(web, ["n0"]), *objects, n=n)
    assert answer.finished is finishes
    if not finishes:
        assert answer.summary == (
            "default/web: the rollout stalls at step 1: claim default/data is ReadWriteOnce and attached to n0, where "
            "default/web-1-0 uses it: the new pod is on n1 and cannot attach it (Multi-Attach), "
            "and maxUnavailable 0 keeps the old pod until the new one is ready; 0 of 1 pod is new"
        )
        assert [one.summary for one in answer.suggestions] == [STRATEGY, RECREATE, SHARED]


def test_several_pods_with_one_disk_need_another_disk() -> None:
    web = deployment(2, surge(1, 0), DISK)
    answer = ask(web, pods_of(web, ["n0", "n0"]), *disk())
    assert [one.summary for one in answer.suggestions][:1] == [SHARED]


def test_the_node_with_the_attachment_is_named() -> None:
    attachment = make_object(
        VolumeAttachment,
        "csi-1",
        spec={"attacher": "csi.example.com", "nodeName": "n2", "source": {"persistentVolumeName": "pv"}},
    )
    web = deployment(1, surge(1, 0), {**DISK, **HALF})
    users = [make_pod("reader", node="n2", requests={"cpu": "3"}, **DISK)]
    answer = ask(web, [*pods_of(web, ["n0"]), *users], *disk(), attachment, n=3)
    assert "attached to n2, where default/reader uses it" in answer.summary


def test_a_broken_pod_of_a_stateful_set_blocks_the_revision_that_repairs_it() -> None:
    db = stateful_set(3)
    pods = members(["n0", "n1", "n0"])
    broken = replace(pods[1], status=replace(pods[1].status, conditions=(Condition(type="Ready", status="False"),)))
    answer = scheduling_cluster(make_cluster(nodes(2), [pods[0], broken, pods[2]], db)).rollout(restarted(db))
    assert answer.summary == (
        "default/db: the rollout does not start: default/db-1 is not ready and nothing suggests that this will change; "
        "OrderedReady replaces no pod, not even a broken one, before all pods are ready"
    )
    assert answer.suggestions[0].summary.startswith("repair the template, then delete default/db-1 once")


OLDER = "delete default/db-1 once: it is older than the template"


@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.parametrize(
    ("template", "revision", "first"),
    [
        pytest.param(ONE, "db-1", OLDER, id="the new template is another"),
        pytest.param(HUGE, "db-2", OLDER, id="the template has been changed since the pod was created"),
        pytest.param(HUGE, "db-1", "repair the template, then delete default/db-1 once", id="a restart"),
    ],
)
def test_a_broken_pod_of_an_older_template_is_only_deleted(
    pending: bool, template: dict[str, Any], revision: str, first: str
) -> None:
    pods = members(["n0", "" if pending else "n1", "n0"], **HUGE)
    status = {"phase": "Pending" if pending else "Running", "conditions": [{"type": "Ready", "status": "False"}]}
    pods[1] = replace(pods[1], status=msgspec.convert(status, PodStatus))
    stored = stateful_set(3, HUGE)
    stored = replace(stored, status=replace(stored.status, update_revision=revision))
    answer = scheduling_cluster(make_cluster(nodes(2), pods, stored)).rollout(restarted(stateful_set(3, template)))
    assert answer.suggestions[0].summary.startswith(first)


def test_a_new_pod_that_lacks_capacity_needs_no_other_template() -> None:
    db = stateful_set(2, ONE)
    fillers = [make_pod(f"x{i}", node=f"n{i}", requests={"cpu": "4"}) for i in range(2)]
    answer = scheduling_cluster(make_cluster(nodes(2), [*members(["n0", "n1"]), *fillers], db)).rollout(restarted(db))
    assert [one.summary for one in answer.suggestions if "template" in one.summary] == []
    assert [one.summary for one in answer.suggestions] == ["add a node like n0"]


def test_a_rollout_that_finishes_has_no_suggestions() -> None:
    web = deployment(2, surge(1, 1))
    assert ask(web, pods_of(web, ON_2)).suggestions == ()


@pytest.mark.parametrize(
    ("web", "suggested"),
    [
        (deployment(2, paused=True), ["kubectl rollout resume of Deployment web"]),
        (
            stateful_set(2, updateStrategy={"type": "OnDelete"}),
            ["delete its pods one after another", "updateStrategy RollingUpdate instead of OnDelete"],
        ),
        (
            stateful_set(2, updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}),
            ["partition 0 in the updateStrategy"],
        ),
    ],
    ids=["paused", "OnDelete", "all pods are below the partition"],
)
def test_a_rollout_that_its_own_strategy_holds_names_what_begins_it(web: Any, suggested: list[str]) -> None:
    pods = pods_of(web, ON_2) if isinstance(web, Deployment) else members(["n0", "n1"])
    found = ask(web, pods).suggestions
    assert len(found) == len(suggested)
    for one, start in zip(found, suggested, strict=True):
        assert one.summary.startswith(start)
        assert one.untried or one.then.startswith("the rollout finishes: ")


def test_a_forgotten_cordon_comes_before_a_new_node_and_stateful_sets_get_no_template_hash() -> None:
    apart = {"podAntiAffinity": APART["affinity"]["podAntiAffinity"]}
    terms = apart["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {**terms[0], "labelSelector": {"matchLabels": {"app": "db"}}}
            ]
        }
    }
    db = stateful_set(2, {"affinity": apart})
    pods = [let_in(pod) for pod in members(["n0", "n1"], affinity=apart)]
    cluster = make_cluster([make_node("n0"), make_node("n1", unschedulable=True)], pods, db)
    found = scheduling_cluster(cluster).rollout(restarted(db)).suggestions
    assert [one.summary for one in found][:2] == ["uncordon node n1", "add a node like n0"]
    assert not any("pod-template-hash" in one.summary or "template" in one.summary for one in found)
