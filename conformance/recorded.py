"""Recorded answers compared with kschedctl's, without Go: the differences, one case, and the list of gaps."""

import argparse
import json
from collections import Counter
from pathlib import Path

import msgspec

from conformance import gaps
from conformance.comparison import PARTS, differences
from conformance.recordings import cases, compared, has_answers, our_answer, our_decision, recorded_answers, themes
from kschedctl.common.errors import InputError, KschedctlError
from kschedctl.objects.releases.release import LATEST, RELEASES
from kschedctl.questions.batch.cases import Case
from kschedctl.questions.verify.pending_pods import Theirs, decision_text, disagreement
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.plugins.registry import IN_TREE_PLUGINS

_decode_case = msgspec.json.Decoder(Case).decode


#: The differing cases: (release, theme, case) -> the missing feature, and the parts that differ.
Found = dict[tuple[str, str, str], tuple[str, tuple[str, ...]]]


def run(args: argparse.Namespace) -> int:
    """Print the number of equal recorded answers of each release and theme, and some that differ."""
    return 1 if _compare(args.theme or themes(), args.release or [*RELEASES], args.show) else 0


def write_gaps(args: argparse.Namespace) -> int:
    """Write the list of recorded answers that are not equal."""
    found = _compare(themes(), [*RELEASES])
    gaps.write(gaps.grouped(found))
    print(f"{gaps.PATH}: {len(found)} cases")
    return 0


def show(args: argparse.Namespace) -> int:
    """Print one case, and the parts in which kube-scheduler's answer and kschedctl's differ."""
    if Path(args.case).is_file():
        return _show_handed_in(Path(args.case), args.release or [])
    return _show_case(args.case, args.release or [*RELEASES])


def _compare(names: list[str], versions: list[str], n_most: int = 0) -> Found:
    found: Found = {}
    for version in versions:
        for theme in (name for name in names if has_answers(name, version)):
            parts: Counter[str] = Counter()
            n_cases = n_equal = n_shown = 0
            for case, recorded, ours in compared(theme, version):
                differing = differences(recorded, ours)
                parts.update(differing.keys())
                n_cases += 1
                n_equal += not differing
                if differing:
                    found[version, theme, case.id] = (_needs(case, version, differing), tuple(differing))
                if differing and n_shown < n_most:
                    n_shown += 1
                    print(*(f"{case.id} {part}: {text}" for part, text in differing.items()), sep="\n")
            worst = ", ".join(f"{part} {n}" for part, n in parts.most_common())
            print(f"{version} {theme:12} {n_equal:4} of {n_cases} equal  {worst}".rstrip())
    return found


def _needs(case: Case, version: str, differing: dict[str, str]) -> str:
    """Return the missing feature: the one the decision reports as not modelled, else the plugin of the parts."""
    try:
        features = our_decision(case, RELEASES[version]).not_modelled
    except KschedctlError:
        features = ()
    if features:
        # A feature starts with its plugin's name, except those of DynamicResources.
        first = (feature.feature.partition(",")[0] for feature in features)
        return ", ".join(dict.fromkeys(name if name in IN_TREE_PLUGINS else "DynamicResources" for name in first))
    return "DefaultPreemption" if set(differing) <= {"message", "preemption"} else "unknown"


def _show_case(case_id: str, versions: list[str]) -> int:
    found = next(((theme, case) for theme in themes() for case in cases(theme) if case.id == case_id), None)
    if found is None:
        raise InputError(f"no recorded case is named {case_id}")
    theme, case = found
    print(json.dumps({"objects": case.objects, "pod": case.pod, "config": case.config}, indent=2))
    status = 0
    for version in versions:
        recorded = recorded_answers(theme, version).get(case_id)
        if recorded is None:
            print(f"\n{version}: no recorded answer")
            continue
        ours = our_answer(case, RELEASES[version])
        for part, text in differences(recorded, ours).items():
            status = 1
            print(f"\n{version} {part}: {text}")
            print(" recorded:", json.dumps(PARTS[part](recorded)))
            print(" ours:    ", json.dumps(PARTS[part](ours)))
    return status


def _show_handed_in(path: Path, versions: list[str]) -> int:
    """Print the cases of a file of ``kschedctl verify --record``; return 1 if any still differs."""
    status = 0
    for case in map(_decode_case, path.read_bytes().splitlines()):
        theirs = msgspec.convert(case.theirs or {}, Theirs)
        print(json.dumps({"objects": case.objects, "pod": case.pod, "config": case.config}, indent=2))
        for version in versions or [theirs.release or LATEST.version]:
            decision = our_decision(case, RELEASES[version].with_features(theirs.feature_gates))
            differs = disagreement(theirs, decision) is not None
            status |= differs
            print(f"\n{version} {case.id}: {'differs' if differs else 'equal'}")
            if theirs.node:
                print(f" kube-scheduler: put it on {theirs.node}")
                print(f" ours:           {', '.join(_refusals(decision, theirs.node)) or 'it fits there'}")
            else:
                print(f" kube-scheduler: {theirs.message}")
                print(f" ours:           {decision_text(decision)}")
    return status


def _refusals(decision: Decision, node: str) -> list[str]:
    return [f"{plugin}: {reason.text}" for plugin, reasons in decision.node(node).reasons for reason in reasons]
