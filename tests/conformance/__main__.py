"""Compare with the recorded answers by hand, and list what is not equal: python -m tests.conformance --help."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

import msgspec

from conformance import gaps
from conformance.comparison import PARTS, differences
from conformance.recordings import cases, compared, our_answer, our_decision, recorded_answers, themes
from kschedctl.errors import KschedctlError
from kschedctl.plugins.registry import IN_TREE_PLUGINS
from kschedctl.releases.release import LATEST, RELEASES
from kschedctl.scheduler.cases import Case
from kschedctl.scheduler.decision import Decision
from kschedctl.scheduler.disagreement import Theirs, disagreement
from kschedctl.scheduler.verify import said

_decode_case = msgspec.json.Decoder(Case).decode


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--theme", action="append", choices=themes(), help="only this theme (repeatable)")
    parser.add_argument("--release", action="append", choices=[*RELEASES], help="only this release (repeatable)")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="show N differing cases of each")
    parser.add_argument(
        "--case",
        metavar="ID|FILE",
        help="show one case: what was recorded and what we say; of a FILE of verify --record, what kube-scheduler said",
    )
    parser.add_argument("--rewrite-gaps", action="store_true", help="list every difference in gaps.toml, for review")
    args = parser.parse_args()
    if args.rewrite_gaps and (args.theme or args.release or args.case):
        parser.error("--rewrite-gaps takes all themes and releases")
    if args.case and Path(args.case).is_file():
        raise SystemExit(_show_recorded(Path(args.case), args.release or []))
    if args.case:
        _show_case(args.case, args.release or [*RELEASES])
    else:
        _compare(args.theme or themes(), args.release or [*RELEASES], args.show, rewrite=args.rewrite_gaps)


def _compare(names: list[str], versions: list[str], show: int, *, rewrite: bool) -> None:
    found: dict[tuple[str, str, str], tuple[str, tuple[str, ...]]] = {}
    for version in versions:
        for theme in names:
            parts: Counter[str] = Counter()
            n_cases = n_equal = n_shown = 0
            for case, recorded, ours in compared(theme, version):
                differing = differences(recorded, ours)
                parts.update(differing.keys())
                n_cases += 1
                n_equal += not differing
                if differing:
                    found[version, theme, case.id] = (_needs(case, version, differing), tuple(differing))
                if differing and n_shown < show:
                    n_shown += 1
                    print(*(f"{case.id} {part}: {text}" for part, text in differing.items()), sep="\n")
            worst = ", ".join(f"{part} {n}" for part, n in parts.most_common())
            print(f"{version} {theme:12} {n_equal:4} of {n_cases} equal  {worst}".rstrip())
    if rewrite:
        gaps.write(gaps.grouped(found))
        print(f"{gaps.PATH}: {len(found)} cases")


def _needs(case: Case, version: str, differing: dict[str, str]) -> str:
    """What a case waits for: what the decision itself says it does not model, else the room the parts belong to."""
    try:
        features = our_decision(case, RELEASES[version]).not_modelled
    except KschedctlError:
        features = ()
    if features:
        # Only what DynamicResources lacks is not said with a plugin's name in front.
        first = (feature.feature.partition(",")[0] for feature in features)
        return ", ".join(dict.fromkeys(name if name in IN_TREE_PLUGINS else "DynamicResources" for name in first))
    return "DefaultPreemption" if set(differing) <= {"message", "preemption"} else "unknown"


def _show_case(case_id: str, versions: list[str]) -> None:
    case = next((case for theme in themes() for case in cases(theme) if case.id == case_id), None)
    if case is None:
        raise SystemExit(f"no recorded case is named {case_id}")
    theme = next(theme for theme in themes() if case in cases(theme))
    print(json.dumps({"objects": case.objects, "pod": case.pod, "config": case.config}, indent=2))
    for version in versions:
        recorded, ours = recorded_answers(theme, version)[case_id], our_answer(case, RELEASES[version])
        for part, text in differences(recorded, ours).items():
            print(f"\n{version} {part}: {text}")
            print(" recorded:", json.dumps(PARTS[part](recorded)))
            print(" ours:    ", json.dumps(PARTS[part](ours)))


def _show_recorded(path: Path, versions: list[str]) -> int:
    """The cases of a file of ``kschedctl verify --record``; 1 where any still differs."""
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
                print(f" ours:           {said(decision)}")
    return status


def _refusals(decision: Decision, node: str) -> list[str]:
    return [f"{plugin}: {reason.text}" for plugin, reasons in decision.node(node).reasons for reason in reasons]


if __name__ == "__main__":
    main()
