"""The ``kubectl get`` commands of README and the tour leave no kind out that an answer depends on."""

import re

import pytest
from msgspec.structs import replace

from kschedctl.objects.kinds import KINDS, kind_by_name
from kschedctl.trials.completeness import TABLE, concerns, parts_for_pod
from tests.builders import make_cluster, make_node, make_pod
from tests.paths import ROOT

#: The kinds that not every cluster serves: kubectl would refuse the whole command.
NOT_EVERYWHERE = {"LeaseCandidate", "VolumeAttributesClass", "DeviceTaintRule", "CompositePodGroup"}
DEVICES = {kind for group, kind in KINDS if group == "resource.k8s.io"}
GROUPS = {"PodGroup", "Workload"}
#: A new pod that uses everything, in a cluster whose pods select namespaces by label.
TERM = {"topologyKey": "zone", "namespaceSelector": {"matchLabels": {"team": "a"}}}
POD = make_pod(
    labels={"app": "web"},
    owner=("ReplicaSet", "web", "1"),
    volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
    resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "gpu"}],
    affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}},
    runtimeClassName="gvisor",
    schedulingGroup={"podGroupName": "web"},
)

#: Before admission, which reads the priority classes.
NEW = replace(POD, spec=replace(POD.spec, priority=None))


def commands(name: str) -> list[set[str]]:
    """Return the kinds of each ``kubectl get`` command that writes a snapshot."""
    found = re.findall(r"^kubectl get (\S+) -A -o json > ", (ROOT / name).read_text(), re.MULTILINE)
    kinds = [[kind_by_name(word) for word in words.split(",")] for words in found]
    assert all(kind is not None for command in kinds for kind in command)
    return [{kind.__name__ for kind in command if kind is not None} for command in kinds]


def needed() -> set[str]:
    """Return the kinds that the answer for the pod depends on, whatever its owner is."""
    cluster = make_cluster([make_node()], [])
    parts = parts_for_pod(is_new=True, preempts=True, is_scored=True)
    found = {kind for kind, own in TABLE.items() if not own.keys().isdisjoint(parts) and concerns(kind, cluster, NEW)}
    return found | {"ReplicaSet", "StatefulSet", "ReplicationController"}


@pytest.mark.parametrize("name", ["README.md", "docs/tour.md"])
def test_the_command_names_every_kind_that_an_answer_depends_on(name: str) -> None:
    first = commands(name)[0]
    assert needed() - DEVICES - GROUPS - NOT_EVERYWHERE - first == set()
    # What else the program reads: workloads, for drains, rollouts and causes, and the Leases of leaders.
    assert {kind for _, kind in KINDS} - DEVICES - GROUPS - NOT_EVERYWHERE - first == set()
    assert not first & NOT_EVERYWHERE, "kubectl refuses the whole command if the server lacks one kind"


def test_the_tour_has_commands_for_devices_and_groups() -> None:
    first, devices, groups = commands("docs/tour.md")
    assert first == commands("README.md")[0]
    assert devices == DEVICES - NOT_EVERYWHERE
    assert needed() & DEVICES >= devices
    assert groups == GROUPS
    assert "PodGroup" in needed()
