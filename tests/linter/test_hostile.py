"""Whatever stands in a manifest, lint ends with findings: mutated examples of all rules, and their repairs."""

import copy
import json
import random
import tracemalloc
from contextlib import suppress
from typing import Any

import pytest
import yaml

from kschedctl.linter.applied_fixes import apply_fixes
from kschedctl.linter.lint_files import LintFile, read_text
from kschedctl.linter.rules import RULES
from kschedctl.linter.run import LintRequest, LintResult, lint_files

WITHOUT_SNAPSHOT = [rule for rule in RULES if not rule.snapshot]
TEXTS = [rule.failing_manifests for rule in WITHOUT_SNAPSHOT if rule.code not in ("KS901", "KS902")]
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


PLACES = {
    "annotations": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "annotations": {"a": "DEEP"}}},
    "labels": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"a": "DEEP"}}},
    "status": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "status": {"a": "DEEP"}},
    "a custom resource": {"apiVersion": "a.io/v1", "kind": "A", "metadata": {"name": "a"}, "spec": {"$patch": "DEEP"}},
    "a template": {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a"},
        "spec": {
            "selector": {"matchLabels": {"a": "a"}},
            "template": {
                "metadata": {"labels": {"a": "a"}},
                "spec": {"nodeSelector": {"a": "DEEP"}, "containers": [{"name": "a", "image": "a"}]},
            },
        },
    },
    "no object": {"a": "DEEP"},
}
GROUP = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": "a"}, "spec": {}}


def depth(value: Any) -> int:
    """Return the number of containers around the value DEEP; 0 if it is not there."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((1 + depth(each) for each in inner if each == "DEEP" or depth(each)), 0)


@pytest.mark.parametrize("levels", [200, 201, 340, 900, 5_000])
@pytest.mark.parametrize("opening", ['{"a":', "["])
@pytest.mark.parametrize("place", PLACES)
def test_what_is_nested_deeply_is_linted_or_a_finding(place: str, opening: str, levels: int) -> None:
    """Levels count from the document, as for YAML, and up to 200 are read."""
    n = levels - depth(PLACES[place])
    closing = "}" if opening == '{"a":' else "]"
    text = f"{json.dumps(PLACES[place])}\n{json.dumps(GROUP)}\n".replace('"DEEP"', f"{opening * n}1{closing * n}")
    for name in ("a.json", "a.yaml"):
        found = lint([read_text(text.encode(), name, on_disk=True)])
        apply_fixes(found, lambda files: lint(list(files)), unsafe=True)
        broken = [document.broken.problem for document in found.files[0].documents if document.broken is not None]
        assert [problem for problem in broken if "nest" in problem] == broken
        assert bool(broken) == (levels > 200)
        # A file without apiVersion is none of Kubernetes.
        assert [each.rule.code for each in found.found if each.rule.code == "KS901"] == ["KS901"] * len(broken)
    position = next((each.region for each in found.found if each.rule.code == "KS901"), None)
    assert position is None or levels > 900 or position.column > 200


N_EMPTY = 20_000
OBJECT = '{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "a"}}, "spec": {{{}}}}}\n'
EMPTY = {
    "mappings": OBJECT.format(f'"containers": [{",".join(["{}"] * N_EMPTY)}]'),
    "lists": OBJECT.format(f'"containers": [{",".join(["[]"] * N_EMPTY)}]'),
    "an unknown field": OBJECT.format(f'"x": [{",".join(["{}"] * N_EMPTY)}], "containers": [{{}}]'),
    "a repeated key": OBJECT.format(f'"containers": [{",".join(["{}"] * N_EMPTY)}], "containers": []'),
    "block style": "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n" + "  - {}\n" * N_EMPTY,
}


@pytest.mark.parametrize("suffix", ["json", "yaml"])
@pytest.mark.parametrize("name", EMPTY)
def test_many_empty_elements_need_little_memory(name: str, suffix: str) -> None:
    """A million of them, which 3 MiB can hold, need 250 MB."""
    # A comment makes it no JSON.
    text = (EMPTY[name] if suffix == "json" else f"# YAML\n{EMPTY[name]}").encode()
    lint([read_text(b"a: 1\n", "f.yaml")])
    tracemalloc.start()
    try:
        found = lint([read_text(text, f"f.{suffix}")])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.found
    assert peak / N_EMPTY < 230
