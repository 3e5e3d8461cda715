"""Pods that ``watch`` selects: ``-n``, ``-A`` and ``-l`` as in other commands."""

import builtins
import json
from pathlib import Path
from typing import Any

import pytest

from kschedctl.common.extras import install_command
from kschedctl.objects.meta import ObjectMeta
from kschedctl.questions.cluster_request import ClusterRequest, ClusterSource
from kschedctl.watch.run import WatchRequest
from tests.cli.in_process import run
from tests.live.plain_server import kubeconfig

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
        if name.startswith(("prometheus_client", "kschedctl.watch.server")):
            raise ModuleNotFoundError(name="prometheus_client")
        return imported(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    printed = run("watch", "--metrics", ":0")
    assert printed.code == 2
    assert printed.err == (
        f"error: --metrics: metrics need the Prometheus client\n  install it: {install_command('watch')}\n"
    )
