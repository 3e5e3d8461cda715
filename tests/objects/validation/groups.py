"""The objects of ``groups.yaml`` and the messages of real API servers of two releases about them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import yaml

from kschedctl.objects.releases.release import RELEASES, Release
from tests.objects.validation.probes import BASES, Probe, probe_object

GROUP_KINDS: Final = frozenset({"PodGroup", "Workload", "CompositePodGroup"})
#: The feature gates of API servers by release; the first is the one without which no version with groups is served.
GATES: Final[Mapping[str, tuple[str, ...]]] = {
    "1.36": (
        "GenericWorkload",
        "GangScheduling",
        "TopologyAwareWorkloadScheduling",
        "WorkloadAwarePreemption",
        "DRAWorkloadResourceClaims",
    ),
    "1.37": (
        "GenericWorkload",
        "TopologyAwareWorkloadScheduling",
        "PodGroupPreemptionPolicy",
        "CompositePodGroup",
        "DRAWorkloadResourceClaims",
    ),
    "1.38": ("GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup", "DRAWorkloadResourceClaims"),
}
_GANG: Final = {"schedulingPolicy": {"gang": {"minCount": 2}}}
_BASIC: Final[dict[str, Any]] = {"schedulingPolicy": {"basic": {}}}
_TEMPLATE: Final = {"name": "workers", **_GANG}
_TREE: Final = [
    {
        "name": "top",
        **_BASIC,
        "podGroupTemplates": [_TEMPLATE],
        "compositePodGroupTemplates": [{"name": "inner", **_BASIC, "podGroupTemplates": [{"name": "driver", **_GANG}]}],
    }
]


def _base(version: str, kind: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"scheduling.k8s.io/{version}", "kind": kind, "metadata": {"name": "web"}, "spec": spec}


def _bases(version: str) -> dict[str, dict[str, Any]]:
    return {
        f"{version}/PodGroup": _base(version, "PodGroup", **_GANG),
        f"{version}/Workload": _base(version, "Workload", podGroupTemplates=[_TEMPLATE]),
    }


def _composite(version: str) -> dict[str, Any]:
    return _base(
        version,
        "CompositePodGroup",
        schedulingPolicy={"gang": {"minGroupCount": 1}},
        workloadRef={"workloadName": "web", "templateName": "top"},
    )


#: A valid object of each kind, by release.
GROUP_BASES: Final[Mapping[str, Mapping[str, dict[str, Any]]]] = {
    "1.36": {**_bases("v1alpha2"), "v1/Pod": BASES["Pod"]},
    "1.37": {
        **_bases("v1alpha3"),
        **_bases("v1beta1"),
        "v1beta1/Workload of composites": _base("v1beta1", "Workload", compositePodGroupTemplates=_TREE),
        "v1alpha3/CompositePodGroup": _composite("v1alpha3"),
        "v1/Pod": BASES["Pod"],
    },
    "1.38": {
        **_bases("v1alpha3"),
        **_bases("v1beta1"),
        "v1beta1/Workload of composites": _base("v1beta1", "Workload", compositePodGroupTemplates=_TREE),
        "v1alpha3/CompositePodGroup": _composite("v1alpha3"),
        "v1beta1/CompositePodGroup": _composite("v1beta1"),
        "v1/Pod": BASES["Pod"],
    },
}


@dataclass(frozen=True)
class GroupProbe(Probe):
    """A probe of one release, with all of ``GATES`` on or only the first."""

    release: str = ""
    every_gate: bool = True

    def __str__(self) -> str:
        return f"{self.release}: {self.what}"


def group_probes() -> list[GroupProbe]:
    """Return all probes."""
    entries = yaml.load((Path(__file__).parent / "groups.yaml").read_text(), yaml.CSafeLoader)
    return [
        GroupProbe(
            each["what"],
            probe_object(each, GROUP_BASES[each["release"]]),
            tuple(each.get("refused", ())),
            release=each["release"],
            every_gate=each.get("gates", "all") == "all",
        )
        for each in entries
    ]


def release_with(version: str, *, every_gate: bool = True) -> Release:
    """Return a release with all of ``GATES`` on or only the first."""
    release = RELEASES[version]
    on = GATES[version] if every_gate else GATES[version][:1]
    gates = {gate: gate in on for gate in GATES[version]}
    return replace(release, features={**release.features, **gates})
