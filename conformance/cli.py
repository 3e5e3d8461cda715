"""Compare kschedctl with the reference scheduler, or with its recorded answers."""

import argparse
import contextlib
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import yaml

from conformance import coverage, feature_gates, generate, jsonlines, parity, recorded, recordings, samples
from conformance.asking import Judge, Side, ours
from conformance.builds import build, versions
from conformance.causes import causes
from conformance.differing import Difference, compared, difference, to_follow
from conformance.jsonlines import Object
from conformance.recording import record
from conformance.sequences import is_sequence
from conformance.shrink import shrink
from conformance.suggestions import told
from kschedctl.common.errors import InputError
from kschedctl.objects.releases.release import RELEASES


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return exit code 1 if the two sides differ."""
    args = parser().parse_args(arguments)
    status: int = args.run(args)
    return status


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    root = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    commands = root.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: object, text: str, *, cases: bool = False) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(run=run)
        if cases:
            sub.add_argument("--release", required=True, choices=[*versions()])
            _add_choice_of_cases(sub)
        return sub

    sub = command("build", _build, "Build the judge for a release and print its path.")
    sub.add_argument("release", choices=[*versions()])
    sub = command("generate", _generate, "Write fresh cases.")
    sub.add_argument("--theme", action="append", choices=[*generate.THEMES], help="repeatable; all without it")
    sub.add_argument("--seed", type=int, default=1)
    sub.add_argument("--count", type=int, default=150, help="cases per theme (150)")
    sub.add_argument("--nodes", type=int, default=0, help="clusters of this many nodes instead of a handful")
    sub.add_argument("--release", choices=[*RELEASES], help="whose API, where it differs; the latest without it")
    sub.add_argument("--to", type=Path, required=True, metavar="DIR", help="DIR/THEME.jsonl.gz")
    sub = command("record", _record, "Write what the judge answers, without what hangs on chance.", cases=True)
    sub.add_argument("--to", type=Path, metavar="DIR", help="where; for recorded cases their own place without it")
    sub.add_argument("--times", type=int, default=2, help="runs of each case, which have to agree (2)")
    sub = command("compare", _compare, "Hold our answers against the judge's.", cases=True)
    sub.add_argument("--other", choices=[*versions()], help="the judge of this release instead of ours: what changed")
    sub.add_argument("--show", type=int, default=5, metavar="N", help="print N differing cases of each theme (5)")
    sub.add_argument("--causes", action="store_true", help="at the end, count the distinct differences of all themes")
    sub.add_argument("--shrink", type=int, default=0, metavar="N", help="cut N of them down first (0)")
    sub.add_argument("--seconds", type=float, default=float("inf"), help="begin no further theme after this time")
    sub.add_argument("--to", type=Path, metavar="DIR", help="write the cases that differ there, shrunk or not")
    sub = command(
        "suggestions", _suggestions, "Hold what we suggest for pods that do not fit against the judge.", cases=True
    )
    sub.add_argument("--most", type=int, default=5, help="suggestions per pod (5)")
    sub.add_argument("--show", type=int, default=5, metavar="N", help="print N that are refused of each theme (5)")
    sub = command("shrink", _shrink, "Cut a case down to what makes the two sides differ.")
    sub.add_argument("file", type=Path, help="a file of cases (.jsonl, .jsonl.gz)")
    sub.add_argument("--case", metavar="ID", help="which; the first without it")
    sub.add_argument("--release", required=True, choices=[*RELEASES], help="whose rules we answer by")
    sub.add_argument("--against", choices=[*RELEASES], help="our own rules of another release as the judge, without Go")
    text = "Hold our answers against the recorded ones; needs no Go. Exit code 1 where they differ."
    sub = command("recorded", recorded.run, text)
    sub.add_argument("--theme", action="append", choices=recordings.themes(), help="only this theme (repeatable)")
    sub.add_argument("--release", action="append", choices=[*RELEASES], help="only this release (repeatable)")
    sub.add_argument("--show", type=int, default=0, metavar="N", help="print N differing cases of each theme (0)")
    sub = command("changes", _changes, "Count the distinct differences between the recorded answers of two releases.")
    sub.add_argument("release", choices=[*versions()])
    sub.add_argument("--other", required=True, choices=[*versions()], help="the older release")
    sub.add_argument("--theme", action="append", choices=recordings.themes(), help="only this theme (repeatable)")
    sub = command("show", recorded.show, "Print one case, and where the recorded answer and ours differ; needs no Go.")
    sub.add_argument("case", metavar="ID|FILE", help="a recorded case, or a file of kschedctl verify --record")
    sub.add_argument("--release", action="append", choices=[*RELEASES], help="only this release (repeatable)")
    command("gaps", recorded.write_gaps, "List every recorded answer that is not equal in gaps.toml, for review.")
    text = "Hold the choices of the judge on clusters of which it looks at a sample against ours."
    sub = command("samples", samples.run, text)
    sub.add_argument("--release", required=True, choices=[*versions()])
    sub.add_argument("--seed", type=int, help="fresh cases of this seed; the recorded ones without it")
    sub.add_argument("--count", type=int, default=5, help="fresh cases (5)")
    sub.add_argument("--record", action="store_true", help="write the choices, and the cases if they are fresh")
    sub = command("coverage", coverage.run, "Say which of the scheduler's reasons a set of answers has.")
    sub.add_argument("files", nargs="+", type=Path, help="files of answers")
    sub.add_argument("--release", required=True, choices=[*versions()])
    sub.add_argument("--missing", action="store_true", help="only the reasons that no answer has; exit code 1 if any")
    sub = command("gates", feature_gates.run, "Write the column of a release in the table of feature gates.")
    sub.add_argument("release", choices=[*versions()])
    sub = command("parity", parity.run, "Write docs/parity.md and the line in README anew.")
    sub.add_argument("--check", action="store_true", help="only say whether they are up to date")
    return root


def _add_choice_of_cases(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--theme", action="append", help="only this theme (repeatable)")
    sub.add_argument("--seed", type=int, help="fresh cases of this seed; the recorded ones without it")
    sub.add_argument("--count", type=int, default=150, help="fresh cases per theme (150)")


def _themes(args: argparse.Namespace, *, sequences: bool = True) -> Iterator[tuple[str, list[Object]]]:
    """Yield the selected cases by theme, the recorded sequences only if ``sequences`` is set."""
    recorded = {
        theme: source
        for theme in recordings.all_sequence_themes()
        if (source := recordings.sequence_source(args.release, theme)) is not None
    }
    known = generate.themes(args.release) if args.seed is not None else recordings.themes(args.release)
    if sequences and args.seed is None:
        known += recorded
    for theme in args.theme or known:
        if theme not in known:
            raise InputError(f"{args.release} has no theme {theme}; there are {', '.join(known)}")
        if args.seed is not None:
            cases = list(generate.cases(theme, args.seed, args.count, release=args.release))
        elif theme in recorded:
            cases = [case for case, _ in recordings.sequences(recorded[theme], theme)]
        else:
            cases = _recorded_cases(theme)
        yield theme, cases


def _build(args: argparse.Namespace) -> int:
    print(build(args.release))
    return 0


def _generate(args: argparse.Namespace) -> int:
    known = generate.themes(args.release) if args.release else [*generate.THEMES]
    for theme in args.theme or known:
        if theme not in known:
            raise InputError(f"{args.release} has no theme {theme}; there are {', '.join(known)}")
        path = args.to / f"{theme}.jsonl.gz"
        n = jsonlines.write(path, generate.cases(theme, args.seed, args.count, args.nodes, args.release))
        print(f"{path}: {n} cases")
    return 0


def _record(args: argparse.Namespace) -> int:
    if args.seed is not None and args.to is None:
        raise InputError("answers to fresh cases need a place", hint="add --to DIR")
    folder = args.to or recordings.RECORDINGS
    with Judge(build(args.release)) as judge:
        # Recorded sequences only by name: with new choices they are other sequences.
        for theme, cases in _themes(args, sequences=args.theme is not None):
            found = list(record(cases, judge, args.times))
            many = any(is_sequence(case) for case in cases)
            of_cases, of_answers = recordings.files(theme, args.release, folder, many=many)
            if many or args.to is not None:
                jsonlines.write(of_cases, (case for case, _ in found))
            jsonlines.write(of_answers, (said for _, said in found))
            print(f"{of_answers}: {len(found)} answers to {len(cases)} cases")
            if left_out := [
                case["id"] for case in cases if case["id"] not in {answered["id"] for answered, _ in found}
            ]:
                print(f"left out, not known to the release or a random answer: {', '.join(left_out)}")
    return 0


def _compare(args: argparse.Namespace) -> int:
    with contextlib.ExitStack() as running:
        judge = running.enter_context(Judge(build(args.release)))
        if args.other:
            side: Side = running.enter_context(Judge(build(args.other)))
        else:
            _refuse_unknown(args.release)
            side = ours(args.release)
        return _compare_themes(args, judge, side)


def _refuse_unknown(release: str) -> None:
    if release not in RELEASES:
        raise InputError(f"kschedctl has no rules of {release}; it has {', '.join(RELEASES)}")


def _compare_themes(args: argparse.Namespace, judge: Judge, side: Side) -> int:
    every: list[Difference] = []
    started = time.monotonic()
    names = (args.release, args.other) if args.other else ("judge", "ours")
    for theme, cases in _themes(args):
        head = f"{args.release} {theme:12}"
        if time.monotonic() - started > args.seconds:
            print(f"{head} not begun: {args.seconds:.0f} seconds have passed")
            continue
        if args.other and any(is_sequence(case) for case in cases):
            print(f"{head} not compared: neither judge can follow what chance chose in the other")
            continue
        results = [found for _, found in compared(cases, judge, side, names)]
        differing = [found for found in results if found is not None]
        unexplained = [found for found in differing if not found.explained]
        every += unexplained
        print(f"{head} {_summary(len(results), differing)}".rstrip(), flush=True)
        shrunk = [shrink(found, judge, side) for found in unexplained[: args.shrink]]
        for found in [*shrunk, *unexplained[args.shrink : args.show]]:
            print(described(found, whole=args.shrink > 0), flush=True)
        if args.to is not None and unexplained:
            left = [found.case for found in [*shrunk, *unexplained[args.shrink :]]]
            jsonlines.write(args.to / f"v{args.release}-{theme}.jsonl", left)
    if args.causes:
        _print_causes([found for found in every if not is_sequence(found.case)])
    return 1 if every else 0


def _changes(args: argparse.Namespace) -> int:
    found: list[Difference] = []
    for theme in args.theme or recordings.themes():
        if not all(recordings.has_answers(theme, version) for version in (args.release, args.other)):
            continue
        newer, older = (recordings.recorded_answers(theme, version) for version in (args.release, args.other))
        cases = [case for case in _recorded_cases(theme) if case["id"] in newer.keys() & older.keys()]
        pairs = ((case, newer[case["id"]], older[case["id"]]) for case in cases)
        differing = [
            each for case, new, old in pairs if (each := difference(case, new, old, (args.release, args.other)))
        ]
        print(f"{args.release} {theme:12} {_summary(len(cases), differing)}".rstrip())
        found += differing
    _print_causes(found)
    return 1 if found else 0


def _print_causes(found: list[Difference]) -> None:
    for text, ids in causes(found):
        print(f"{len(ids):6} {text}   ({ids[0]})")


def _recorded_cases(theme: str) -> list[Object]:
    return list(jsonlines.read(recordings.RECORDINGS / "cases" / f"{theme}.jsonl.gz"))


def _summary(n_cases: int, differing: list[Difference]) -> str:
    """Summarize a theme: the number of equal cases, the explained differences, and the parts that differ."""
    parts = Counter(part for found in differing for part in found.parts)
    worst = ", ".join(f"{part} {n}" for part, n in parts.most_common())
    n_races = sum(found.is_race for found in differing)
    n_said = sum(found.explained for found in differing) - n_races
    races = "race" if n_races == 1 else "races"
    said = "".join(f", {n} {what}" for n, what in ((n_said, "not modelled"), (n_races, races)) if n)
    return f"{n_cases - len(differing):4} of {n_cases} equal{said}  {worst}"


def _suggestions(args: argparse.Namespace) -> int:
    _refuse_unknown(args.release)
    n_refused = 0
    with Judge(build(args.release)) as judge:
        for theme, cases in _themes(args, sequences=False):
            found = [list(told(case, args.release, args.most, judge)) for case in cases]
            every = [one for of_case in found for one in of_case]
            refused = [one for one in every if not one.is_true]
            n_refused += len(refused)
            n_pods = sum(bool(of_case) for of_case in found)
            n_true = len(every) - len(refused)
            print(f"{args.release} {theme:12} {n_true} of {len(every)} true, for {n_pods} pods", flush=True)
            for one in refused[: args.show]:
                print(f"{one.case['id']}: {one.suggestion.summary} -> {one.answer.get('message') or one.answer}")
    return 1 if n_refused else 0


def _shrink(args: argparse.Namespace) -> int:
    case = next((c for c in jsonlines.read(args.file) if args.case in (None, c["id"])), None)
    if case is None:
        raise InputError(f"{args.file} has no case {args.case}")
    side = ours(args.release)
    if args.against:
        return _print_shrunk(case, ours(args.against), side)
    with Judge(build(args.release)) as judge:
        return _print_shrunk(case, judge, side)


def _print_shrunk(case: Object, judge: Side, side: Side) -> int:
    expected = judge(case)
    followed = to_follow(case, expected)
    found = difference(followed, expected, side(followed))
    if found is None:
        print(f"{case['id']}: equal")
        return 0
    print(described(shrink(found, judge, side), whole=True))
    return 1


def described(found: Difference, *, whole: bool) -> str:
    """Format a difference: the parts that differ and, if ``whole``, the case as YAML."""
    lines = [f"{found.case['id']} {part}: {text}" for part, text in found.parts.items()]
    if whole:
        case = {name: value for name, value in found.case.items() if name != "id"}
        lines.append(yaml.safe_dump(case, sort_keys=False, default_flow_style=None, width=120).rstrip())
    return "\n".join(lines)
