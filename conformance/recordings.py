"""The recorded cases and answers under fixtures/conformance, and kschedctl's answers to the same cases."""

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from conformance import generate, jsonlines
from conformance.builds import versions
from conformance.comparison import Answer
from conformance.jsonlines import Object
from kschedctl.common.errors import KschedctlError
from kschedctl.objects.releases.release import RELEASES, Release
from kschedctl.questions.batch.cases import Case, answer, decide
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.plugins.registry import in_tree_registry

RECORDINGS: Final = Path(__file__).parents[1] / "fixtures" / "conformance"
SEQUENCES: Final = RECORDINGS / "sequences"


def themes(version: str | None = None) -> list[str]:
    """Return the themes that have recorded cases; with a release only those whose cases it can answer."""
    found = sorted(path.name.removesuffix(".jsonl.gz") for path in (RECORDINGS / "cases").glob("*.jsonl.gz"))
    if version is None:
        return found
    known = generate.themes(version)
    return [theme for theme in found if theme in known or theme not in generate.THEMES]


@cache
def cases(theme: str) -> tuple[Case, ...]:
    """Return the cases of a theme in their order."""
    found = jsonlines.read(RECORDINGS / "cases" / f"{theme}.jsonl.gz")
    return tuple(msgspec.convert(case, Case) for case in found)


def has_answers(theme: str, version: str) -> bool:
    """Report whether a release has recorded answers to a theme."""
    return _answers(theme, version).exists()


def recorded_answers(theme: str, version: str) -> dict[str, Any]:
    """Return a release's recorded answers to a theme, by case; none if the release cannot answer it."""
    if not has_answers(theme, version):
        return {}
    return {found["id"]: found for found in jsonlines.read(_answers(theme, version))}


def our_answer(case: Case, release: Release) -> Object:
    """Return kschedctl's answer to a case.

    A ``KschedctlError`` becomes an answer with ``error``; any other exception is a bug and is propagated.
    """
    try:
        return answer(case.id, our_decision(case, release))
    except KschedctlError as error:
        return {"id": case.id, "error": str(error)}


def our_decision(case: Case, release: Release) -> Decision:
    """Return kschedctl's decision in a case."""
    return decide(case, release, in_tree_registry())


def compared(theme: str, version: str) -> Iterator[tuple[Case, Answer, Answer]]:
    """Yield every case of a theme with a recorded answer of the release, that answer, and kschedctl's."""
    recorded = recorded_answers(theme, version)
    for case in cases(theme):
        if case.id in recorded:
            yield case, recorded[case.id], our_answer(case, RELEASES[version])


def files(theme: str, version: str, folder: Path = RECORDINGS, *, many: bool) -> tuple[Path, Path]:
    """Return the files of a theme's cases and of a release's answers; ``many`` is set for a theme of sequences.

    The theme ``sequence`` has the folder of all sequences, any other a folder of its name therein. As the cases contain
    the choices of a release, each has its own.
    """
    if not many:
        name = f"{theme}.jsonl.gz"
        return folder / "cases" / name, folder / "answers" / f"v{version}" / name
    own = folder / "sequences" / ("" if theme == "sequence" else theme)
    return own / f"v{version}.cases.jsonl.gz", own / f"v{version}.answers.jsonl.gz"


def all_sequence_themes() -> list[str]:
    """Return the themes of which any release has recorded sequences."""
    return ["sequence", *sorted(path.name for path in SEQUENCES.iterdir() if path.is_dir())]


def sequence_themes(version: str) -> list[str]:
    """Return the themes of which a release has recorded sequences."""
    return [theme for theme in all_sequence_themes() if files(theme, version, many=True)[0].exists()]


def sequence_releases(theme: str = "sequence") -> list[str]:
    """Return the releases that have recorded sequences of a theme, oldest first."""
    return [version for version in RELEASES if theme in sequence_themes(version)]


def sequence_source(version: str, theme: str) -> str | None:
    """Return the release whose sequences a release is to run: itself, else the newest one before it that has any.

    All releases have the same sequences, so that a new release begins with those of the release before.
    """
    known = [*versions()]
    older = known[: known.index(version) + 1]
    return next((each for each in reversed(older) if theme in sequence_themes(each)), None)


def sequences(version: str, theme: str = "sequence") -> list[tuple[Object, Object]]:
    """Return a release's recorded sequences, each with its answer; the cases contain the random choices."""
    cases, answers = map(jsonlines.read, files(theme, version, many=True))
    said = {answer["id"]: answer for answer in answers}
    return [(case, said[case["id"]]) for case in cases]


def races(version: str) -> list[str]:
    """Return the sequences of a release, of all themes, for which kube-scheduler's own answer varies."""
    listed: dict[str, list[str]] = tomllib.loads((SEQUENCES / "races.toml").read_text())["races"]
    return listed.get(version, [])


def _answers(theme: str, version: str) -> Path:
    return files(theme, version, many=False)[1]
