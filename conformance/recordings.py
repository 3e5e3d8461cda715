"""The recorded cases and answers under fixtures/conformance, and our answers to the same cases."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from conformance import jsonlines
from conformance.comparison import Answer
from conformance.jsonlines import Object
from kschedctl.analyses.batch.answer import answer
from kschedctl.analyses.batch.cases import Case, decide
from kschedctl.errors import KschedctlError
from kschedctl.plugins.registry import in_tree_registry
from kschedctl.releases.release import RELEASES, Release
from kschedctl.scheduler.decision import Decision

RECORDINGS: Final = Path(__file__).parents[1] / "fixtures" / "conformance"
SEQUENCES: Final = RECORDINGS / "sequences"


def themes() -> list[str]:
    """The themes that there are cases of."""
    return sorted(path.name.removesuffix(".jsonl.gz") for path in (RECORDINGS / "cases").glob("*.jsonl.gz"))


@cache
def cases(theme: str) -> tuple[Case, ...]:
    """The cases of a theme in their order."""
    found = jsonlines.read(RECORDINGS / "cases" / f"{theme}.jsonl.gz")
    return tuple(msgspec.convert(case, Case) for case in found)


def has_answers(theme: str, version: str) -> bool:
    """Whether a release has recorded answers to a theme."""
    return _answers(theme, version).exists()


def recorded_answers(theme: str, version: str) -> dict[str, Any]:
    """The recorded answers of a release to a theme, by case."""
    return {found["id"]: found for found in jsonlines.read(_answers(theme, version))}


def our_answer(case: Case, release: Release) -> Object:
    """What we say to a case; an error of ours is an answer too, any other exception is a bug and goes on."""
    try:
        return answer(case.id, our_decision(case, release))
    except KschedctlError as error:
        return {"id": case.id, "error": str(error)}


def our_decision(case: Case, release: Release) -> Decision:
    """What we decide in a case."""
    return decide(case, release, in_tree_registry())


def compared(theme: str, version: str) -> Iterator[tuple[Case, Answer, Answer]]:
    """Every case of a theme that a release has a recorded answer to, with that answer and ours."""
    recorded = recorded_answers(theme, version)
    for case in cases(theme):
        if case.id in recorded:
            yield case, recorded[case.id], our_answer(case, RELEASES[version])


def sequence_releases() -> list[str]:
    """The releases that there are recorded sequences of, oldest first."""
    return [version for version in RELEASES if (SEQUENCES / f"v{version}.cases.jsonl.gz").exists()]


def sequences(version: str) -> list[tuple[Object, Object]]:
    """The recorded sequences of a release, each with its answer; the cases have the choices that chance made."""
    cases, answers = (jsonlines.read(SEQUENCES / f"v{version}.{what}.jsonl.gz") for what in ("cases", "answers"))
    said = {answer["id"]: answer for answer in answers}
    return [(case, said[case["id"]]) for case in cases]


def races(version: str) -> list[str]:
    """The recorded sequences of a release in which kube-scheduler gives now this answer, now that."""
    listed: dict[str, list[str]] = tomllib.loads((SEQUENCES / "races.toml").read_text())["races"]
    return listed.get(version, [])


def _answers(theme: str, version: str) -> Path:
    return RECORDINGS / "answers" / f"v{version}" / f"{theme}.jsonl.gz"
