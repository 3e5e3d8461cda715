"""The reasons of node pools, compared with the recorded answers of Karpenter's provisioner."""

import msgspec
import pytest

from kschedctl.autoscaler.instance_types import allocatable
from kschedctl.linter.node_pools import SizedType, refusal
from kschedctl.objects.karpenter import NodePool
from kschedctl.objects.pod import Pod
from kschedctl.questions.batch.cases import read_case_object
from kschedctl.questions.batch.provisioning import ProvisioningCase
from tests.autoscaler.karpenter.test_recorded import THEMES, lines


@pytest.mark.parametrize("theme", THEMES)
def test_no_pool_refuses_a_pod_for_which_karpenter_launched_a_node(theme: str) -> None:
    recorded = {answer["id"]: answer for answer in lines("answers", theme)}
    wrong, n = [], 0
    for case in (msgspec.convert(each, ProvisioningCase) for each in lines("cases", theme)):
        types = [SizedType(kind, allocatable(kind)) for kind in case.instance_types]
        objects = [read_case_object(each, "") for each in case.objects]
        pods = {each.key: each for each in objects if isinstance(each, Pod)}
        pools = {each.name: each for each in objects if isinstance(each, NodePool)}
        for claim in recorded[case.id].get("claims", []):
            for key in claim["pods"]:
                n += 1
                found = refusal(pools[claim["nodePool"]], pods[key], types)
                if found is not None:
                    wrong.append((case.id, key, found.reason))
    assert wrong == []
    assert n > 100


@pytest.mark.parametrize("theme", THEMES)
def test_karpenter_launches_no_node_for_pods_that_all_pools_refuse(theme: str) -> None:
    recorded = {answer["id"]: answer for answer in lines("answers", theme)}
    n = 0
    for case in (msgspec.convert(each, ProvisioningCase) for each in lines("cases", theme)):
        types = [SizedType(kind, allocatable(kind)) for kind in case.instance_types]
        objects = [read_case_object(each, "") for each in case.objects]
        pools = [each for each in objects if isinstance(each, NodePool) and each.spec.replicas is None]
        pods = {each.key: each for each in objects if isinstance(each, Pod)}
        for key, fate in recorded[case.id].get("pods", {}).items():
            if pools and all(refusal(pool, pods[key], types) for pool in pools):
                n += 1
                assert "claim" not in fate, (case.id, key)
    assert n > 20
