"""Selectors of devices need an extra: without it they are one clear error, and all other answers are as with it."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conformance import jsonlines
from conformance.recordings import RECORDINGS
from kschedctl.common.extras import install_command
from kschedctl.scheduler.devices.cel import environment
from tests.cli.in_process import Printed, run
from tests.paths import ROOT

FIXTURES = ROOT / "fixtures"
GPUS = str(FIXTURES / "devices/cluster")
INFERENCE = str(FIXTURES / "devices/manifests/inference.yaml")
PROBLEM = "device selectors are written in CEL, which needs cel-expr-python, which is not installed"
HINT = f"""\
  {install_command("devices")}
  where pip finds no build of it, as on Alpine and for Python 3.15: use an image such as python:3.14-slim"""


@contextmanager
def without_cel() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cel_expr_python", None)
        environment._environment.cache_clear()
        try:
            yield
        finally:
            environment._environment.cache_clear()


@pytest.mark.parametrize(
    "arguments",
    [
        ["explain", "ml/train-0"],
        ["explain", INFERENCE],
        ["preempt", "ml/train-0"],
        ["devices", "ml/train"],
        ["pending"],
        ["simulate"],
        ["capacity", INFERENCE],
        ["drain", "gpu-1", "--place-pending-first"],
        ["diff", "-n", "ml", "--cordon", "gpu-2"],
        ["verify"],
        ["lint", INFERENCE],
    ],
    ids=lambda arguments: " ".join(arguments[:1]),
)
def test_pods_that_need_it_are_an_error_with_the_line_that_installs_it(arguments: list[str]) -> None:
    with without_cel():
        printed = run(*arguments, "--snapshot", GPUS)
    assert printed == Printed(2, "", f"error: {PROBLEM}\n{HINT}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["explain", "shop/web-7", "--snapshot", str(FIXTURES / "shop/cluster")],
        ["explain", "ml/serve-0", "--snapshot", GPUS, "--why"],
        ["devices", "--snapshot", GPUS],
        ["lint", INFERENCE],
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_what_needs_none_is_answered_as_with_it(arguments: list[str]) -> None:
    expected = run(*arguments)
    with without_cel():
        assert run(*arguments) == expected
    assert expected.code in (0, 1)


def test_cases_of_a_batch_are_answered_each_by_itself(tmp_path: Path) -> None:
    gpu = next(jsonlines.read(RECORDINGS / "cases" / "devices.jsonl.gz"))
    plain = {**gpu, "id": "plain", "pod": {**gpu["pod"], "spec": {"containers": [{"name": "app"}]}}}
    path = tmp_path / "cases.jsonl"
    jsonlines.write(path, (gpu, plain))
    expected = run("batch", str(path))
    with without_cel():
        printed = run("batch", str(path))
    first, second = map(json.loads, printed.out.splitlines())
    assert first == {"id": gpu["id"], "error": f"{PROBLEM}\n{HINT}"}
    assert second == json.loads(expected.out.splitlines()[1])
    assert second["best"]
