"""Whatever stands in a manifest, lint ends with findings: mutated examples of all rules, and their repairs."""

from __future__ import annotations

import copy
import random
from contextlib import suppress
from typing import Any

import pytest
import yaml

from kschedctl.linter.applied_fixes import apply_fixes
from kschedctl.linter.lint_files import LintFile, read_text
from kschedctl.linter.rules import RULES
from kschedctl.linter.run import LintRequest, LintResult, lint_files

WITHOUT_SNAPSHOT = [rule for rule in RULES if not rule.snapshot]
TEXTS = [rule.fails for rule in WITHOUT_SNAPSHOT if rule.code not in ("KS901", "KS902")]
JUNK: list[Any] = [
    *(None, "", 0, -1, True, [], {}, "x", "${X}", "{{ a }}", [None], [{}], {"a": None}, 1.5, "1%", "-5%", 10**30),
    *(["x", 1], {"matchLabels": []}, {"matchExpressions": {}}, {"matchExpressions": [{"key": "a", "operator": "Gt"}]}),
]


def places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        here = waiting.pop()
        keys = list(here) if isinstance(here, dict) else range(len(here)) if isinstance(here, list) else []
        found += [(here, key) for key in keys]
        waiting += [here[key] for key in keys]
    return found


def mutated(rng: random.Random) -> str:
    documents = list(yaml.safe_load_all(rng.choice(TEXTS)))
    for document in documents:
        for _ in range(rng.randint(1, 4)):
            # Nothing is left once the last field is removed.
            here, key = rng.choice(places(document) or [({}, "")])
            with suppress(KeyError, IndexError):
                if rng.random() < 0.2:
                    del here[key]
                else:
                    here[key] = copy.deepcopy(rng.choice(JUNK))
    return yaml.safe_dump_all(documents, sort_keys=False)


def lint(files: list[LintFile]) -> LintResult:
    return lint_files(files, LintRequest(rules=WITHOUT_SNAPSHOT))


@pytest.mark.parametrize("seed", range(4))
def test_any_shape_is_linted_and_repaired(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(100):
        found = lint([read_text(mutated(rng).encode(), "f.yaml", on_disk=True)])
        for each in found.found:
            assert 1 <= each.region.line <= each.region.end_line
            assert each.message
        apply_fixes(found, lambda files: lint(list(files)), unsafe=True)
