"""The status of Cluster Autoscaler in both of its forms."""

import json
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

import kschedctl
from kschedctl.autoscaler.cluster_autoscaler.status import GroupStatus, parse_status, parse_time, status_of
from kschedctl.objects.coordination import ConfigMap
from tests.builders import make_cluster, make_object
from tests.paths import ROOT

OLD = """\
Cluster-autoscaler status at 2022-02-24 23:56:52.490683298 +0000 UTC:
Cluster-wide:
  Health:      Healthy (ready=4 unready=0 notStarted=0 longNotStarted=0 registered=4 longUnregistered=0)
               LastProbeTime:      2022-02-24 23:56:52.461 +0000 UTC m=+5.1
               LastTransitionTime: 2022-02-24 20:56:52.461 +0000 UTC m=+5.1
  ScaleUp:     NoActivity (ready=4 registered=4)
               LastProbeTime:      2022-02-24 23:56:52.461 +0000 UTC m=+5.1
               LastTransitionTime: 2022-02-24 20:56:52.461 +0000 UTC m=+5.1
  ScaleDown:   NoCandidates (candidates=0)

NodeGroups:
  Name:        eks-spot-1
  Health:      Healthy (ready=1 unready=0 notStarted=0 longNotStarted=0 registered=1 longUnregistered=0 \
cloudProviderTarget=2 (minSize=1, maxSize=3))
               LastProbeTime:      2022-02-24 23:56:52.461 +0000 UTC m=+5.1
               LastTransitionTime: 0001-01-01 00:00:00 +0000 UTC
  ScaleUp:     Backoff (ready=1 cloudProviderTarget=2)
               LastTransitionTime: 2022-02-24 22:56:52.461 +0000 UTC m=+5.1
  ScaleDown:   NoCandidates (candidates=0)

  Name:        eks-large-2
  Health:      Unhealthy (ready=1 unready=3 registered=4 longUnregistered=1 \
cloudProviderTarget=5 (minSize=0, maxSize=5))
  ScaleUp:     NotNeeded (ready=1 cloudProviderTarget=5)
"""
NEW = """\
time: 2022-02-24 23:56:52.490683298 +0000 UTC
autoscalerStatus: Running
clusterWide:
  health: {status: Healthy, nodeCounts: {registered: {total: 4, ready: 4}}}
nodeGroups:
- name: eks-spot-1
  health:
    status: Healthy
    nodeCounts:
      registered: {total: 1, ready: 1, notStarted: 0, unready: {total: 0, resourceUnready: 0}}
      longUnregistered: 0
    cloudProviderTarget: 2
    minSize: 1
    maxSize: 3
    lastTransitionTime: "2022-02-24T20:56:52.46Z"
  scaleUp:
    status: Backoff
    backoffInfo: {errorCode: OutOfCapacity, errorMessage: no spot}
    lastTransitionTime: "2022-02-24T22:56:52.46Z"
- name: eks-large-2
  health:
    status: Unhealthy
    nodeCounts: {registered: {total: 4, ready: 1, unready: {total: 3}}, longUnregistered: 1}
    cloudProviderTarget: 5
    maxSize: 5
  scaleUp: {status: NotNeeded}
"""


def facts(group: GroupStatus) -> tuple[object, ...]:
    """Return the name of a group, its smallest, largest and wanted size, and its state."""
    sizes = group.health.min_size, group.health.max_size, group.health.cloud_provider_target
    return group.name, *sizes, group.n_upcoming, group.is_healthy, group.backoff_since if group.is_in_backoff else None


@pytest.mark.parametrize(("text", "cause"), [(OLD, ""), (NEW, "OutOfCapacity: no spot")], ids=["text", "yaml"])
def test_both_forms_say_the_same(text: str, cause: str) -> None:
    config_map = make_object(ConfigMap, "cluster-autoscaler-status", namespace="kube-system", data={"status": text})
    found = status_of(make_cluster([], [], config_map))
    assert found is not None
    assert found.written == datetime(2022, 2, 24, 23, 56, 52, tzinfo=UTC)
    assert found.cluster_wide.is_healthy
    assert list(map(facts, found.groups)) == [
        ("eks-spot-1", 1, 3, 2, 1, True, datetime(2022, 2, 24, 22, 56, 52, tzinfo=UTC)),
        ("eks-large-2", 0, 5, 5, 0, False, None),
    ]
    assert found.groups[0].backoff_cause == cause


def test_the_time_of_the_annotation_counts_if_the_status_has_none() -> None:
    annotations = {"cluster-autoscaler.kubernetes.io/last-updated": "2022-02-24 23:56:52.49 +0000 UTC"}
    metadata = {"name": "cluster-autoscaler-status", "namespace": "kube-system", "annotations": annotations}
    config_map = make_object(ConfigMap, "x", data={"status": "nodeGroups: [{name: a}]"})
    config_map = msgspec.structs.replace(config_map, metadata=msgspec.convert(metadata, type(config_map.metadata)))
    found = status_of(make_cluster([], [], config_map))
    assert found is not None
    assert found.written == datetime(2022, 2, 24, 23, 56, 52, tzinfo=UTC)


NO_STATUS = {
    "nothing": "",
    "words": "Initializing",
    "another document": "a: 1",
    "broken YAML": "nodeGroups: [",
    "another type": "nodeGroups: 5",
    "a deep document": "[" * 10_000,
    "half a character": "nodeGroups: \udc80",
}


@pytest.mark.parametrize("text", NO_STATUS.values(), ids=NO_STATUS)
def test_texts_that_are_no_status(text: str) -> None:
    assert parse_status(text) is None


TIMES = {
    "2022-02-24 23:56:52.490683298 +0000 UTC m=+5": "2022-02-24 23:56:52+00:00",
    "2022-02-24T23:56:52.49Z": "2022-02-24 23:56:52+00:00",
    "2022-02-24T23:56:52+02:00": "2022-02-24 21:56:52+00:00",
    "2022-02-24 23:56:52 +0200 CEST": "2022-02-24 21:56:52+00:00",
    "0001-01-01 00:00:00 +0000 UTC": "None",
    "2022-02-31 00:00:00 +0000 UTC": "None",
    "yesterday": "None",
}


@pytest.mark.parametrize(("text", "time"), TIMES.items())
def test_times(text: str, time: str) -> None:
    assert str(parse_time(text)) == time


def test_the_status_of_a_running_cluster_is_applied(tmp_path: Path) -> None:
    """No ConfigMap is requested from an API server, so that a user gives it as a file."""
    file = tmp_path / "status.json"
    metadata = {"name": "cluster-autoscaler-status", "namespace": "kube-system"}
    file.write_text(
        json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"status": NEW}})
    )
    changed = kschedctl.load(str(ROOT / "fixtures" / "shop" / "cluster")).what_if(apply=str(file))
    found = status_of(changed.engine.cluster)
    assert found is not None
    assert [group.name for group in found.groups] == ["eks-spot-1", "eks-large-2"]
