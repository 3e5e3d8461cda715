"""Without an extra there is one clear error that says what to install, and all other answers are as with it."""

import builtins
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conformance import jsonlines
from conformance.recordings import RECORDINGS
from kschedctl.common.extras import install_command
from kschedctl.objects.meta import ObjectMeta
from kschedctl.questions.cluster_request import ClusterRequest, ClusterSource
from kschedctl.scheduler.devices.cel import environment
from kschedctl.watch.run import WatchRequest
from tests.cli.in_process import Printed, run
from tests.live.plain_server import kubeconfig
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


@pytest.mark.parametrize("package", ["litestar", "uvicorn", "prometheus_client"])
def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    imported = builtins.__import__

    def without(name: str, *more: Any) -> Any:
        if name.startswith("kschedctl.web.run"):
            raise ModuleNotFoundError(name=package)
        return imported(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    printed = run("serve", "--snapshot", "fixtures/shop/cluster")
    assert printed.code == 2
    assert printed.err == f"error: serve needs the server\n  install it: {install_command('web')}\n"


PODS = [("default", {}), ("shop", {}), ("shop", {"app": "web"}), ("ml", {"app": "web"})]
SELECTIONS = [
    ({}, ["shop/", "shop/web"], "namespace shop"),
    ({"namespace": "ml"}, ["ml/web"], "namespace ml"),
    ({"all_namespaces": True}, ["default/", "shop/", "shop/web", "ml/web"], "any namespace"),
    ({"selector": "app=web"}, ["shop/web"], "namespace shop, with app=web"),
    ({"all_namespaces": True, "selector": "!app"}, ["default/", "shop/"], "any namespace, with !app"),
]


@pytest.mark.parametrize(("given", "expected", "words"), SELECTIONS, ids=lambda value: str(value))
def test_selection_means_the_same_pods_as_elsewhere(
    given: dict[str, Any], expected: list[str], words: str, tmp_path: Path
) -> None:
    """Without -n the context's namespace is used, as in kubectl."""
    config = kubeconfig("http://127.0.0.1:1")
    config["contexts"][0]["context"]["namespace"] = "shop"
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(config))
    request = WatchRequest(cluster=ClusterRequest(source=ClusterSource(kubeconfig=str(path))), **given)
    said, chosen = request.selection()
    meant = [(ns, labels) for ns, labels in PODS if chosen(ObjectMeta(name="p", namespace=ns, labels=labels))]
    assert [f"{ns}/{labels.get('app', '')}" for ns, labels in meant] == expected
    assert said == words


def test_metrics_without_the_client_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def without(name: str, *more: Any) -> Any:
        if name.startswith(("prometheus_client", "kschedctl.watch.metrics")):
            raise ModuleNotFoundError(name="prometheus_client")
        return imported(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    printed = run("watch", "--metrics", ":0")
    assert printed.code == 2
    assert printed.err == (
        f"error: --metrics: metrics need the Prometheus client\n  install it: {install_command('watch')}\n"
    )


def test_an_assistant_needs_the_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    printed = run("mcp", "--snapshot", str(FIXTURES / "shop/cluster"))
    assert printed == Printed(2, "", f"error: mcp needs the protocol\n  install it: {install_command('mcp')}\n")
