"""The pods require a zone by the name of a region of a cloud, which no node has as its zone.

The label ``topology.kubernetes.io/zone`` has a zone such as ``us-east-1a`` (AWS), ``us-central1-a`` (Google Cloud) or
``eastus-1`` (Azure); the region is in ``topology.kubernetes.io/region``. The names of regions are those that the three
clouds publish. IBM Cloud has zones named ``us-east-1`` and ``us-east-2``, as regions of AWS are: the rule is wrong
there. With a snapshot, KS506 compares with the labels of its nodes instead.

The API server accepts the object, and the pods stay pending.

Repair: the zones of the region, or the label topology.kubernetes.io/region.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kschedctl.linter.context import LintContext
from kschedctl.linter.node_terms import demands_of, selector_demands
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem
from kschedctl.objects.selectors import IN
from kschedctl.objects.well_known import BETA_ZONE, ZONE

FAILS = """v1 Pod web
nodeSelector:
  topology.kubernetes.io/zone: us-east-1  # <-
"""
PASSES = FAILS.replace("us-east-1", "us-east-1a")

_ZONES: Final = (ZONE, BETA_ZONE)
_SIDE: Final = "(north|south|east|west|central|(north|south)(east|west)|(east|west)(north|south))"
#: By cloud: the pattern of its regions, and of a zone in a region.
_CLOUDS: Final = {
    "AWS": (
        re.compile(rf"(us-(gov-)?(east|west)|(af|ap|ca|cn|eu|il|me|mx|sa)-{_SIDE})-[1-9]"),
        "{}a",
    ),
    "Google Cloud": (
        re.compile(rf"(africa|asia|australia|europe|me|northamerica|southamerica|us)-{_SIDE}[1-9][0-9]?"),
        "{}-a",
    ),
    "Azure": (
        re.compile(
            "(east|west|central|northcentral|southcentral|westcentral)us[23]?|(north|west)europe|uk(south|west)|"
            "(east|southeast)asia|australia(east|southeast|central)|japan(east|west)|brazilsouth|"
            "canada(central|east)|(central|south|west)india|france(central|south)|germanywestcentral|"
            "korea(central|south)|norwayeast|polandcentral|qatarcentral|swedencentral|switzerlandnorth|uaenorth|"
            "italynorth|israelcentral|spaincentral|southafricanorth"
        ),
        "{}-1",
    ),
}


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    if context.overlay is not None:
        return
    terms = (demand for steps, term in pods.node_terms or () for demand in demands_of(term, steps))
    for demand in (*selector_demands(pods), *terms):
        if demand.key not in _ZONES or demand.operator != IN:
            continue
        for cloud, (pattern, zone) in _CLOUDS.items():
            if all(pattern.fullmatch(value) for value in demand.values):
                value = demand.values[0]
                in_list = isinstance(demand.steps[-1], int)
                yield Problem(
                    message=f"{value} is a region of {cloud}, and no node has it as its zone",
                    steps=(*demand.steps, "values", 0) if in_list else demand.steps,
                    help=f"name zones, such as {zone.format(value)}, or require topology.kubernetes.io/region",
                )
