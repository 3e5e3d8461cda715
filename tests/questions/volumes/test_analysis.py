"""Claims and their volumes, as data and in words."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.choice import choose_release
from kschedctl.objects.volume import CSINode, PersistentVolumeClaim
from kschedctl.output.data_forms import as_json
from kschedctl.questions.charts import Bars, NodeMap
from kschedctl.questions.document import Block, Table
from kschedctl.questions.provenance import Provenance
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from kschedctl.questions.volumes.analysis import claim_answer, pod_answer
from kschedctl.questions.volumes.answer import ClaimVolumes, PodVolumes, VolumesList
from kschedctl.questions.volumes.document import document, list_document
from kschedctl.questions.volumes.overview import VolumeOverview
from kschedctl.trials.claim_action import ClaimAction
from kschedctl.trials.completeness import missing_for_claims
from tests.answer_schema import validate
from tests.builders import (
    ZONE,
    make_claim,
    make_cluster,
    make_loaded,
    make_node,
    make_object,
    make_pod,
    make_storage_class,
    make_volume,
    mount,
)
from tests.questions.drawn import about, cells, coloured, parts, view_of

NODES = [make_node("a1", zone="a"), make_node("a2", zone="a"), make_node("b1", zone="b")]
EARLY = make_storage_class("early", waits=False)
LATE = make_storage_class("late")


def provenance(cluster: Cluster, *claims: PersistentVolumeClaim) -> Provenance:
    missing = tuple(missing_for_claims(cluster, claims))
    choice = choose_release("1.36", "", ())
    return Provenance(release_choice=choice, paths=("here",), n_pods=0, missing=missing)


def about_claim(claim: PersistentVolumeClaim, *objects: ApiObject, pods: tuple[Pod, ...] = ()) -> ClaimVolumes:
    cluster = make_cluster(NODES, pods, claim, *objects)
    claim = cluster.get(PersistentVolumeClaim, claim.name, claim.namespace) or claim
    overview = VolumeOverview(cluster)
    return claim_answer(overview.claim(claim), overview.on_nodes(claim), cluster, provenance(cluster, claim))


def about_pod(*objects: ApiObject, **pod: Any) -> PodVolumes:
    claims = [obj for obj in objects if isinstance(obj, PersistentVolumeClaim)]
    made = make_pod("web", volumes=mount(*(claim.name for claim in claims)), **pod)
    cluster = make_cluster(NODES, [made], *objects)
    return pod_answer(VolumeOverview(cluster).pod(made), cluster, provenance(cluster, *claims))


def zoned(name: str, zone: str, claim: str, storage_class: str = "early") -> ApiObject:
    return make_volume(name, claim=f"default/{claim}", affinity={ZONE: [zone]}, storage_class=storage_class)


IN_A = make_claim("in-a", bound="pv-a", storage_class="early")
IN_B = make_claim("in-b", bound="pv-b", storage_class="early")
PV_A, PV_B = zoned("pv-a", "a", "in-a"), zoned("pv-b", "b", "in-b")

ANSWERS: dict[str, ClaimVolumes | PodVolumes] = {
    "bound": about_claim(IN_A, PV_A, EARLY),
    "waiting": about_claim(make_claim(), LATE),
    "with volumes there": about_claim(make_claim(size="5Gi"), LATE, make_volume(), make_volume("big", size="9Gi")),
    "no class": about_claim(make_claim(storage_class="absent"), LATE),
    "two zones": about_pod(IN_A, IN_B, PV_A, PV_B, EARLY),
    "one zone": about_pod(IN_A, PV_A, EARLY),
    "node selection": about_pod(IN_A, PV_A, EARLY, nodeSelector={ZONE: "b"}),
    "none": about_pod(),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_answers_are_valid_by_the_schema(case: str) -> None:
    value = json.loads(as_json(ANSWERS[case]))
    validate(value)


def test_lists_are_valid_by_the_schema() -> None:
    value = json.loads(as_json(VolumesList(items=tuple(ANSWERS.values()))))
    validate(value)
    assert {item["kind"] for item in value["items"]} == {"ClaimVolumes", "PodVolumes"}


@pytest.mark.parametrize(
    ("case", "usable", "summary"),
    [
        ("one zone", True, "default/web: its claim allows 2 of 3 nodes, only in zone a."),
        (
            "two zones",
            False,
            "default/web can run on no node: claim default/in-a requires zone a, claim default/in-b requires zone b.",
        ),
        (
            "node selection",
            False,
            "default/web can run on no node: claim default/in-a requires zone a, its node selection requires zone b. "
            "Its claim allows 2 of 3 nodes, only in zone a; its node selection allows none of these.",
        ),
        ("none", True, "default/web uses no claims: its volumes do not restrict its nodes."),
    ],
)
def test_what_is_said_of_a_pod(case: str, usable: bool, summary: str) -> None:
    answer = ANSWERS[case]
    assert isinstance(answer, PodVolumes)
    assert (answer.usable, answer.summary) == (usable, summary)


@pytest.mark.parametrize(
    ("claim", "objects", "usable", "summary"),
    [
        pytest.param(
            IN_A,
            (PV_A, EARLY),
            True,
            "default/in-a is bound to pv-a. A pod with it can run on 2 of 3 nodes, only in zone a.",
            id="bound",
        ),
        pytest.param(
            make_claim(storage_class="early"),
            (EARLY, make_volume(storage_class="early")),
            True,
            "default/data will be bound to pv. Its pods stay pending until then.",
            id="to be bound",
        ),
        pytest.param(
            make_claim(storage_class=None),
            (make_storage_class("early", waits=False, default=True),),
            True,
            "default/data is not bound; the PersistentVolume controller gives it the default class early, then "
            "requests a volume from csi.example.com. Its pods stay pending until then.",
            id="default class",
        ),
        pytest.param(
            make_claim(storage_class=""),
            (EARLY,),
            False,
            "default/data has no volume: no persistent volumes available for this claim and no storage class is set",
            id="no class and no volume",
        ),
        pytest.param(
            make_claim(storage_class="local"),
            (make_storage_class("local", provisioner="kubernetes.io/no-provisioner"),),
            False,
            "default/data is not bound; the PersistentVolume controller waits for a pod that uses it. A pod with it "
            "can run on no node.",
            id="nothing to provision with",
        ),
        pytest.param(
            IN_A,
            (PV_B, EARLY),
            False,
            "default/in-a has no volume: Bound claim has lost its PersistentVolume. Data on the volume is lost!",
            id="lost",
        ),
        pytest.param(
            IN_A, (EARLY,), True, "default/in-a is bound to pv-a, which is not in the snapshot.", id="not known"
        ),
    ],
)
def test_what_is_said_of_a_claim(
    claim: PersistentVolumeClaim, objects: tuple[ApiObject, ...], usable: bool, summary: str
) -> None:
    answer = about_claim(claim, *objects)
    assert (answer.usable, answer.claim.summary) == (usable, summary)


def test_what_the_snapshot_does_not_have_is_said() -> None:
    answer = about_claim(IN_A, EARLY)
    assert not answer.complete
    assert answer.claim.controller.action is ClaimAction.KEEP
    assert answer.nodes is None
    assert about_pod(IN_A, EARLY).summary == (
        "The nodes for default/web are unknown: its volumes are not in the snapshot."
    )
    assert about_claim(IN_A, PV_A, EARLY).complete


def test_each_other_volume_has_its_reasons() -> None:
    answer = ANSWERS["with volumes there"]
    assert isinstance(answer, ClaimVolumes)
    assert [(v.volume, [m.field for m in v.mismatches]) for v in answer.claim.controller.not_taken] == [
        ("pv", ["capacity"]),
        ("big", []),
    ]


def test_the_trap_in_words() -> None:
    answer = about_claim(IN_A, PV_A, EARLY)
    assert answer.claim.trap is not None
    assert answer.claim.trap.explanation == (
        "Claim in-a got its volume in zone a before any pod was placed, because class early binds immediately. "
        "Its pods can no longer be scheduled to zone b, whatever else they need."
    )
    assert about_claim(make_claim(), LATE).claim.trap is None


def test_the_trap_that_is_to_come() -> None:
    drivers = [{"name": "csi.example.com", "topologyKeys": [ZONE]}]
    csi_node = make_object(CSINode, "a1", spec={"drivers": drivers})
    answer = about_claim(make_claim(storage_class="early"), EARLY, csi_node)
    assert answer.claim.trap is not None
    assert "the provisioner picks one of the zones a and b" in answer.claim.trap.explanation


def test_the_cause_for_which_a_claim_is_not_bound_and_its_cures() -> None:
    found = about_claim(make_claim(storage_class="gp2"), make_storage_class("gp3"))
    assert [one.rule for one in found.diagnoses] == ["missing-storage-class"]
    assert found.cures == (
        "recreate claim data with class gp3: the class of a claim cannot be changed",
        "create StorageClass gp2, with the provisioner of gp3",
    )


def test_a_claim_that_waits_for_its_pods_needs_no_cure() -> None:
    found = about_claim(make_claim(), make_storage_class())
    assert (found.diagnoses, found.cures) == ((), ())


CLUSTER = make_loaded(
    make_cluster(
        [make_node("a1", zone="a"), make_node("a2", zone="a"), make_node("b1", zone="b")],
        [make_pod("web", volumes=mount("data", "new"))],
        make_claim("data", bound="pv"),
        make_claim("new"),
        make_claim("lost", storage_class="none"),
        make_volume("pv", claim="default/data", affinity={ZONE: ["a"]}),
        make_storage_class("late"),
    )
)


def charts(blocks: Iterable[Block]) -> tuple[list[NodeMap], list[Bars], list[Table]]:
    found = list(blocks)
    return (
        [each for each in found if isinstance(each, NodeMap)],
        [each for each in found if isinstance(each, Bars)],
        [each for each in found if isinstance(each, Table)],
    )


@pytest.mark.parametrize(
    ("answer", "b1", "lines"),
    [
        (SchedulingCluster(CLUSTER).volumes(claim="default/data"), "volume cannot be reached", 1),
        (SchedulingCluster(CLUSTER).volumes(claim="default/new"), "usable", 1),
        (SchedulingCluster(CLUSTER).volumes("default/web"), "volume cannot be reached", 2),
    ],
)
def test_nodes_are_coloured_by_use(answer: ClaimVolumes | PodVolumes, b1: str, lines: int) -> None:
    (chart,), _, tables = charts(document(answer, view_of(CLUSTER)))
    assert coloured(chart) == {"a1": "usable", "a2": "usable", "b1": b1}
    own = [line for line in about(chart)["b1"] if " free" not in line]
    assert len(own) == lines
    assert ("nodes", "zones", "usable", "outcome for a pod") in [each.headings for each in tables]


def test_claims_by_storage_class() -> None:
    answers = tuple(SchedulingCluster(CLUSTER).volumes(claim=f"default/{name}") for name in ("data", "new", "lost"))
    _, (chart,), _ = charts(list_document(VolumesList(items=answers), view_of(CLUSTER)))
    assert cells(chart) == [("late", "2 claims"), ("none", "1 claim")]
    assert parts(chart) == {
        "late": ["bound: 1 claim", "to be bound: 1 claim"],
        "none": ["without a usable volume: 1 claim"],
    }
