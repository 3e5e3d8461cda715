"""The limit of attempts in a case of many pods: an attempt at a group counts once."""

from typing import Any

import msgspec
import pytest

from kschedctl.common.errors import UnsupportedError
from kschedctl.objects.releases.release import RELEASES
from kschedctl.questions.batch import sequences
from kschedctl.questions.batch.sequences import SequenceCase, run_sequence
from kschedctl.scheduler.plugins.registry import in_tree_registry


def case(n_members: int) -> SequenceCase:
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "gang", "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": n_members}}},
    }
    spec: dict[str, Any] = {"containers": [{"name": "c"}], "schedulingGroup": {"podGroupName": "gang"}}
    pods = [{"metadata": {"name": f"m{i}", "namespace": "default"}, "spec": spec} for i in range(n_members)]
    data = {"id": "x", "objects": [group], "pods": pods, "featureGates": {"GenericWorkload": True}}
    return msgspec.convert(data, SequenceCase)


def test_an_attempt_at_a_group_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without nodes, the group is tried twice before the run is at rest."""
    monkeypatch.setattr(sequences, "MOST_ATTEMPTS", 2)
    assert len(run_sequence(case(5), RELEASES["1.37"], in_tree_registry()).attempts) == 10
    monkeypatch.setattr(sequences, "MOST_ATTEMPTS", 1)
    with pytest.raises(UnsupportedError, match="does not settle"):
        run_sequence(case(5), RELEASES["1.37"], in_tree_registry())
