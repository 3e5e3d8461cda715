"""The JSON Schema of all answers, made from their types: ``schema.json`` beside this module.

The answers of a command are distinguished by ``kind``; parts that several answers share are in ``$defs``.
"""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

import msgspec

from kschedctl.questions.answer import schema_of
from kschedctl.questions.capacity import answer as capacity
from kschedctl.questions.consolidate import answer as consolidate
from kschedctl.questions.devices import answer as devices
from kschedctl.questions.diff import answer as diff
from kschedctl.questions.drain import answer as drain
from kschedctl.questions.explain import answer as explain
from kschedctl.questions.inventory import answer as inventory
from kschedctl.questions.leader import answer as leader
from kschedctl.questions.lint import answer as lint
from kschedctl.questions.lint import answer as rule
from kschedctl.questions.nodes import answer as nodes
from kschedctl.questions.optimum import answer as optimum
from kschedctl.questions.pending import answer as pending
from kschedctl.questions.preempt import answer as preempt
from kschedctl.questions.provision import answer as provision
from kschedctl.questions.rollout import answer as rollout
from kschedctl.questions.simulate import answer as simulate
from kschedctl.questions.snapshot import answer as snapshot
from kschedctl.questions.sweep import answer as sweep
from kschedctl.questions.verify import answer as verify
from kschedctl.questions.volumes import answer as volumes
from kschedctl.questions.watch import answer as watch

#: The types of answers by command, as ``-o json`` prints them; ``watch`` prints one per line.
ANSWERS: Final[Mapping[str, tuple[type[msgspec.Struct], ...]]] = {
    "capacity": (capacity.PodCapacity, capacity.CapacityList),
    "devices": (devices.DevicesOverview, devices.DeviceSupply, devices.DevicesList),
    "diff": (diff.Diff,),
    "drain": (drain.Drained,),
    "explain": (explain.Explanation, explain.ExplanationList),
    "leader": (leader.LeaderOverview,),
    "leader simulate": (leader.LeaderSimulation,),
    "lint": (lint.LintReport,),
    "nodes": (nodes.NodesOverview, nodes.NodeDescription),
    "optimum": (optimum.Optimum, optimum.Purchased, optimum.Emptied),
    "pending": (pending.Pending,),
    "preempt": (preempt.Preemption, preempt.PreemptionList, preempt.Threat),
    "provision": (provision.Provisioning,),
    "consolidate": (consolidate.Consolidated,),
    "rollout": (rollout.RolledOut,),
    "rule": (rule.RulePages,),
    "serve": (
        inventory.ClusterSummary,
        inventory.PodsOverview,
        inventory.WorkloadsOverview,
        inventory.WorkloadDescription,
        inventory.BudgetsOverview,
        inventory.BudgetDescription,
        inventory.SearchResults,
    ),
    "simulate": (simulate.Simulated,),
    "snapshot info": (snapshot.SnapshotInfo,),
    "sweep": (sweep.Sweep,),
    "verify": (verify.Verification,),
    "volumes": (volumes.ClaimVolumes, volumes.PodVolumes, volumes.VolumesList),
    "watch": (
        watch.WatchBegun,
        watch.WatchStale,
        watch.WatchCurrent,
        watch.PodWaits,
        watch.GroupWaits,
        watch.PodPlaced,
        watch.PodGone,
    ),
}


def _structs(types: Iterable[Any], seen: set[Any]) -> Iterator[type[msgspec.Struct]]:
    """Yield every struct in types and in the fields of structs, each once."""
    for kind in types:
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            if kind not in seen:
                seen.add(kind)
                yield kind
                yield from _structs(get_type_hints(kind).values(), seen)
        else:
            yield from _structs(get_args(kind), seen)


def schema_components(types: Iterable[Any], ref_template: str) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    """Return the schemas of types and, by name, the schemas of their parts, with a description of every part.

    Args:
        ref_template: The form of references to parts, with ``{name}`` for the name of the part.
    """
    types = tuple(types)
    schemas, parts = msgspec.json.schema_components(types, schema_hook=schema_of, ref_template=ref_template)
    for kind in _structs(types, set()):
        fields = parts[kind.__name__]["properties"]
        hints = get_type_hints(kind, include_extras=True)
        annotated = {name: hint.__metadata__[-1] for name, hint in hints.items() if get_origin(hint) is Annotated}
        texts = {name: text for name, text in annotated.items() if isinstance(text, str)}
        for field in msgspec.structs.fields(kind):
            if field.name in texts:
                fields[field.encode_name] = {"description": texts[field.name], **fields[field.encode_name]}
    for part in parts.values():
        if "description" in part:
            # The description is the docstring, which is indented in versions of Python before 3.13.
            part["description"] = inspect.cleandoc(part["description"])
        if "kind" in part.get("properties", {}):
            # msgspec makes the field from the tag of the type, which has no description.
            part["properties"]["kind"].setdefault("description", "The type of the answer.")
    return schemas, parts


def schema() -> dict[str, Any]:
    """Return the JSON Schema of all answers."""
    every = tuple(kind for kinds in ANSWERS.values() for kind in kinds)
    kinds, parts = schema_components(every, "#/$defs/{name}")
    refs = dict(zip(every, kinds, strict=True))
    commands = {
        command: {"title": f"kschedctl {command}", "oneOf": [refs[kind] for kind in of]}
        for command, of in ANSWERS.items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Answers of kschedctl",
        "description": "An answer of any command; $defs/COMMAND is one of a single command.",
        "oneOf": list(kinds),
        "$defs": {**{name.replace(" ", "-"): value for name, value in commands.items()}, **dict(sorted(parts.items()))},
    }
