from typing import Any

import pytest
from msgspec.structs import replace

from kschedctl.objects.releases.release import RELEASES
from kschedctl.objects.selectors import Requirement
from kschedctl.objects.volume import CSIDriver, CSIStorageCapacity, PersistentVolumeClaim
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.volumes.reasons import (
    NotEnoughStorage,
    NotProvisioned,
    ProvisionedElsewhere,
    ProvisionedForOtherNodes,
    VolumeForNoNode,
    VolumeForOtherNodes,
    VolumeMissing,
    VolumeNotTranslated,
)
from tests.builders import (
    ZONE,
    decide,
    fitting,
    make_claim,
    make_cluster,
    make_csi_node,
    make_node,
    make_object,
    make_pod,
    make_profile,
    make_storage_class,
    make_volume,
    mount,
    reason,
    said,
    told,
)

PLUGIN = "VolumeBinding"
NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
NODES = [make_node("a", zone="a"), make_node("b", zone="b")]
SCRATCH = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}}]


def alone() -> dict[str, Any]:
    """A configuration without the plugins that would end the matter first."""
    off = [{"name": name} for name in ("VolumeRestrictions", "VolumeZone")]
    return make_profile(plugins={"multiPoint": {"disabled": off}})


def unresolvable(*texts: str) -> Status:
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, texts)


UNKNOWN = Status(
    Code.ERROR,
    (
        "unsupported volumeAttributesClassName is set on claim default/data when the feature-gate "
        "VolumeAttributesClass is disabled",
    ),
)


@pytest.mark.parametrize(
    ("volumes", "objects", "text"),
    [
        pytest.param(mount("data"), [], 'persistentvolumeclaim "data" not found', id="no claim"),
        pytest.param(
            SCRATCH,
            [],
            'waiting for ephemeral volume controller to create the persistentvolumeclaim "pod-scratch"',
            id="no claim for an ephemeral volume yet",
        ),
        pytest.param(
            SCRATCH,
            [make_claim("pod-scratch", owner="else")],
            "PVC default/pod-scratch was not created for pod default/pod (pod is not owner)",
            id="another pod's ephemeral volume",
        ),
        pytest.param(
            mount("data"),
            [
                make_object(
                    PersistentVolumeClaim,
                    "data",
                    namespace="default",
                    spec={"volumeName": "pv"},
                    status={"phase": "Lost"},
                )
            ],
            'persistentvolumeclaim "data" bound to non-existent persistentvolume "pv"',
            id="a lost claim",
        ),
        pytest.param(
            mount("data"),
            [make_claim(storage_class="now"), make_storage_class("now", waits=False)],
            "pod has unbound immediate PersistentVolumeClaims",
            id="a claim that should be bound by now",
        ),
        pytest.param(
            mount("data"),
            [make_claim(volumeName="pv"), make_storage_class()],
            "pod has unbound immediate PersistentVolumeClaims",
            id="a claim that names its volume, not yet bound to it",
        ),
        pytest.param(
            mount("data"),
            [make_claim()],
            "pod has unbound immediate PersistentVolumeClaims",
            id="a class that does not exist waits for nobody",
        ),
    ],
)
def test_claims_that_end_the_matter(volumes: list[dict[str, Any]], objects: list[Any], text: str) -> None:
    decision = decide(make_pod(volumes=volumes), make_cluster(NODES, (), *objects), config=alone())
    assert decision.pre_filter is not None
    assert decision.pre_filter.status == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,), PLUGIN)


def test_a_claim_that_is_being_deleted_ends_the_matter() -> None:
    claim = make_claim(bound="pv")
    cluster = make_cluster(NODES, (), replace(claim, metadata=make_pod(terminating=True).metadata), make_volume())
    decision = decide(make_pod(volumes=mount("pod")), cluster, config=alone())
    assert decision.pre_filter is not None
    assert decision.pre_filter.status.reasons == ('persistentvolumeclaim "pod" is being deleted',)


def test_skipped_without_claims_and_not_scored_without_the_gate() -> None:
    cluster = make_cluster(NODES, (), make_claim(), make_storage_class())
    assert PLUGIN in decide(make_pod(), cluster).state.skip_filter_plugins
    decision = decide(make_pod(volumes=mount("data")), cluster, release=RELEASES["1.36"])
    assert fitting(decision, PLUGIN) == "a b"
    assert PLUGIN in decision.state.skip_score_plugins


def test_a_bound_volume_in_another_zone() -> None:
    objects = [make_claim(bound="pv"), make_volume(claim="default/data", affinity={ZONE: ["b"]})]
    decision = decide(make_pod(volumes=mount("data")), make_cluster(NODES, (), *objects))
    assert fitting(decision, PLUGIN) == "b"
    assert said(decision, PLUGIN, "a") == unresolvable(NODE_CONFLICT)
    found = reason(decision, PLUGIN, "a")
    assert found.detail == f"claim data is on volume pv, which is for {ZONE}=b; the node has {ZONE}=a"
    assert found.data == {"claim": "data", "volume": "pv", "wanted": f"{ZONE}=b", "node": f"{ZONE}=a"}


def test_reasons_come_together_in_a_fixed_order() -> None:
    objects = [
        make_claim("near", bound="pv"),
        make_volume(claim="default/near", affinity={ZONE: ["b"]}),
        make_claim("open", storage_class="local"),
        make_storage_class("local", provisioner="kubernetes.io/no-provisioner"),
        make_claim("lost", bound="gone"),
    ]
    cluster = make_cluster(NODES, (), *objects)
    decision = decide(make_pod(volumes=mount("near", "lost", "open")), cluster, config=alone())
    assert said(decision, PLUGIN, "a") == unresolvable(NODE_CONFLICT, BIND_CONFLICT)
    assert said(decision, PLUGIN, "b") == unresolvable(BIND_CONFLICT, MISSING)
    details = [r.detail for r in dict(decision.node("b").reasons)[PLUGIN]]
    assert details == [
        "claim open: no volume matches it, and class local does not provision",
        "claim lost is bound to volume gone, which does not exist",
    ]


@pytest.mark.parametrize(
    ("claim", "objects", "text", "detail"),
    [
        pytest.param(
            make_claim(annotations={"volume.kubernetes.io/selected-node": "a"}),
            [make_storage_class()],
            BIND_CONFLICT,
            "claim data is being provisioned for node a",
            id="selected for another node",
        ),
        pytest.param(
            make_claim(storage_class="local"),
            [
                make_storage_class("local", provisioner="kubernetes.io/no-provisioner"),
                make_volume(storage_class="local", affinity={ZONE: ["a"]}),
            ],
            BIND_CONFLICT,
            "claim data: no volume that matches it is free and reachable, and class local does not provision",
            id="a local volume elsewhere",
        ),
        pytest.param(
            make_claim(),
            [make_storage_class(allowedTopologies=[{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}])],
            BIND_CONFLICT,
            f"claim data: class late provisions only for {ZONE}=a; the node has {ZONE}=b",
            id="a class for another zone",
        ),
        pytest.param(
            make_claim(size="3Gi"),
            [
                make_storage_class(),
                make_object(CSIDriver, "csi.example.com", spec={"storageCapacity": True}),
                make_object(
                    CSIStorageCapacity,
                    "b",
                    namespace="csi",
                    storageClassName="late",
                    capacity="2Gi",
                    nodeTopology={"matchLabels": {ZONE: "b"}},
                ),
            ],
            NO_SPACE,
            "claim data wants 3Gi, the largest volume that can be provisioned here is 2Gi",
            id="too little space",
        ),
    ],
)
def test_details_of_unbound_claims(claim: Any, objects: list[Any], text: str, detail: str) -> None:
    found = reason(decide(make_pod(volumes=mount("data")), make_cluster(NODES, (), claim, *objects)), PLUGIN, "b")
    assert found.text == text
    assert found.detail == detail


def test_a_volume_without_an_equivalent_is_an_error_on_migrated_nodes() -> None:
    source = {"azureDisk": {"diskURI": "disk", "kind": "Dedicated"}}
    objects = [make_claim(bound="pv"), make_volume(claim="default/data", source=source)]
    csi_node = make_csi_node("a", limits={}, migrated="kubernetes.io/azure-disk")
    decision = decide(make_pod(volumes=mount("data")), make_cluster(NODES, (), csi_node, *objects))
    text = "could not translate pv: kind(Dedicated) is not supported in csi migration"
    assert said(decision, PLUGIN, "a") == Status(Code.ERROR, (text,))
    assert said(decision, PLUGIN, "b") == Status()
    assert decision.error == f'running "VolumeBinding" filter plugin: {text}'


IN_B, IN_C = Requirement("zone", "In", ("b",)), Requirement("zone", "In", ("c",))
#: In nano-bytes.
GI = 2**30 * 10**9


@pytest.mark.parametrize(
    ("operands", "words", "data"),
    [
        pytest.param(
            VolumeMissing("data", "pv"),
            "claim data is bound to volume pv, which does not exist",
            {"claim": "data", "volume": "pv"},
            id="volume missing",
        ),
        pytest.param(
            VolumeNotTranslated("data", "pv", "it is odd"),
            "claim data: it is odd",
            {"claim": "data", "volume": "pv"},
            id="not translated",
        ),
        pytest.param(
            VolumeForNoNode("data", "pv"),
            "claim data is on volume pv, whose node affinity matches no node",
            {"claim": "data", "volume": "pv"},
            id="for no node",
        ),
        pytest.param(
            VolumeForOtherNodes(
                "data", "pv", ((IN_B, Requirement("disk", "Exists")), (IN_C,)), {"zone": "a", "disk": None}
            ),
            "claim data is on volume pv, which is for zone=b and disk or zone=c; the node has zone=a, no disk",
            {"claim": "data", "volume": "pv", "wanted": "zone=b and disk or zone=c", "node": "zone=a, no disk"},
            id="for other nodes",
        ),
        pytest.param(
            ProvisionedElsewhere("data", "b"),
            "claim data is being provisioned for node b",
            {"claim": "data", "selectedNode": "b"},
            id="provisioned elsewhere",
        ),
        pytest.param(
            NotProvisioned("data", "local", volumes=0),
            "claim data: no volume matches it, and class local does not provision",
            {"claim": "data", "storageClass": "local", "volumes": 0},
            id="no volume",
        ),
        pytest.param(
            NotProvisioned("data", "local", volumes=2),
            "claim data: no volume that matches it is free and reachable, and class local does not provision",
            {"claim": "data", "storageClass": "local", "volumes": 2},
            id="no free volume",
        ),
        pytest.param(
            ProvisionedForOtherNodes("data", "fast", ((IN_B,), (IN_C,)), {"zone": "a"}),
            "claim data: class fast provisions only for zone=b or zone=c; the node has zone=a",
            {"claim": "data", "storageClass": "fast", "wanted": "zone=b or zone=c", "node": "zone=a"},
            id="provisioned for other nodes",
        ),
        pytest.param(
            NotEnoughStorage("data", "fast", 5 * GI, 3 * GI),
            "claim data wants 5Gi, the largest volume that can be provisioned here is 3Gi",
            {"claim": "data", "storageClass": "fast", "wanted": "5Gi", "largest": "3Gi"},
            id="too large",
        ),
        pytest.param(
            NotEnoughStorage("data", "fast", 5 * GI, None),
            "claim data wants 5Gi, the largest volume that can be provisioned here is none",
            {"claim": "data", "storageClass": "fast", "wanted": "5Gi", "largest": "none"},
            id="no capacity",
        ),
    ],
)
def test_operands(operands: Operands, words: str, data: dict[str, Any]) -> None:
    assert told(operands) == (words, data)


@pytest.mark.parametrize(
    ("claim", "said_of"),
    [
        pytest.param({}, {"a": Status(), "b": Status()}, id="no class is named"),
        pytest.param({"volumeAttributesClassName": "gold"}, {"a": UNKNOWN, "b": UNKNOWN}, id="looking is an error"),
        pytest.param(
            {"volumeAttributesClassName": "gold", "annotations": {"volume.kubernetes.io/selected-node": "b"}},
            {"a": unresolvable(BIND_CONFLICT), "b": Status()},
            id="on a node that was selected nothing is looked for",
        ),
    ],
)
def test_without_their_gate_attributes_classes_are_not_known(claim: dict[str, Any], said_of: dict[str, Status]) -> None:
    release = RELEASES["1.34"].with_features({"VolumeAttributesClass": False})
    cluster = make_cluster(NODES, (), make_claim(**claim), make_storage_class())
    decision = decide(make_pod(volumes=mount("data")), cluster, release=release)
    assert {node: said(decision, PLUGIN, node) for node in ("a", "b")} == said_of


@pytest.mark.parametrize(
    ("size", "free", "old", "new"),
    [
        # 64 bits hold 9.22E. Quantities with a binary unit end there; more of a decimal unit counts as 0 in 1.37.
        pytest.param("20E", "1Gi", Status(), unresolvable(NO_SPACE), id="the claim exceeds 64 bits"),
        pytest.param("12E", "10E", Status(), unresolvable(NO_SPACE), id="both exceed them, the claim is larger"),
        pytest.param("10E", "12E", Status(), Status(), id="both exceed them, the claim is smaller"),
        pytest.param("1E", "10E", unresolvable(NO_SPACE), Status(), id="the capacity exceeds them"),
        pytest.param("10Ei", "9Ei", Status(), Status(), id="both end at the largest number"),
        pytest.param("2Gi", "1Gi", unresolvable(NO_SPACE), unresolvable(NO_SPACE), id="common sizes"),
    ],
)
def test_huge_claims(size: str, free: str, old: Status, new: Status) -> None:
    """In 1.37 the sizes are compared as 64-bit numbers, in 1.38 exactly."""
    driver = make_object(CSIDriver, "csi.example.com", spec={"storageCapacity": True})
    capacity = make_object(
        CSIStorageCapacity, "free", namespace="default", storageClassName="late", capacity=free, nodeTopology={}
    )
    cluster = make_cluster(NODES[:1], [], make_storage_class(), make_claim(size=size), driver, capacity)
    pod = make_pod(volumes=mount("data"))
    found = {
        version: said(decide(pod, cluster, release=RELEASES[version]), PLUGIN, "a") for version in ("1.37", "1.38")
    }
    assert found == {"1.37": old, "1.38": new}
