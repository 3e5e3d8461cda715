"""Commands with extenders: they are called only with ``--call-extenders``."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.in_process import Printed, run
from tests.scheduler.extenders.server import Answer, ExtenderServer, leaving

SHOP = "fixtures/shop/cluster"
NAMES = {"urlPrefix": "", "filterVerb": "filter", "nodeCacheCapable": True}


def ask(
    folder: Path, *arguments: str, answers: dict[str, Answer], columns: int = 160, **extender: Any
) -> tuple[Printed, ExtenderServer]:
    """Run a command with an extender; return its output, with the server's address as ``URL``, and the server."""
    with ExtenderServer(answers) as server:
        own = {**NAMES, "urlPrefix": server.url, **extender}
        config = folder / "config.json"
        head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
        config.write_text(json.dumps({**head, "extenders": [own]}))
        done = run(*arguments, "--snapshot", SHOP, "--config", str(config), columns=columns)
    out, err = (text.replace(server.url, "URL").replace(str(config), "CONFIG") for text in (done.out, done.err))
    return Printed(done.code, out, err), server


ONLY_NODE_7: dict[str, Answer] = {"filter": leaving("node-7", failed={"node-8": "no license left", "node-5": "hot"})}


def test_without_the_option_nobody_is_asked_and_the_answer_says_so(tmp_path: Path) -> None:
    done, server = ask(tmp_path, "explain", "shop/web-7", answers=ONLY_NODE_7)
    assert server.asked == []
    assert "is scheduled to node-8" in done.out
    assert "not modelled: the extender URL; the answer assumes that it rejects no node and gives no scores" in done.out


def test_what_an_extender_says_is_a_reason_with_its_address(tmp_path: Path) -> None:
    done, server = ask(tmp_path, "explain", "shop/web-7", "--call-extenders", answers=ONLY_NODE_7)
    assert server.verbs == ["filter"]
    assert "shop/web-7 fits on 1 of 15 nodes and is scheduled to node-7" in done.out
    rows = [" ".join(line.split()) for line in done.out.splitlines() if "URL" in line]
    assert rows == [
        "2 Extender the extender URL gives no reason",
        "1 Extender hot: reported by the extender URL",
        "1 Extender no license left: reported by the extender URL",
    ]
    assert "not modelled" not in done.out
    assert "--config CONFIG --call-extenders --why" in done.out


def test_scores_of_an_extender_have_a_column(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {"rate": [{"Host": "node-5", "Score": 10}]}
    config: dict[str, Any] = {"filterVerb": "", "prioritizeVerb": "rate", "weight": 2}
    done, _ = ask(tmp_path, "explain", "shop/web-7", "--call-extenders", answers=answers, **config)
    assert "is scheduled to node-5 (score 809, next best node-8 with 634)" in done.out
    assert "URL x2" in done.out


def test_an_error_is_the_answer(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {"filter": {"Error": "license server is down"}}
    done, _ = ask(tmp_path, "explain", "shop/web-7", "--call-extenders", answers=answers)
    assert done.code == 1
    assert "license server is down" in done.out


def test_an_error_that_may_be_ignored_puts_the_answer_in_doubt(tmp_path: Path) -> None:
    arguments = ("explain", "shop/web-7", "--call-extenders", "--strict")
    done, _ = ask(tmp_path, *arguments, answers={"filter": (500, b"")}, ignorable=True)
    assert done.code == 3
    failed = "failed filter with extender at URL URL/filter, code 500"
    assert f"the extender URL; it is ignorable and its filter call failed: {failed}" in " ".join(done.out.split())


def test_candidates_that_an_extender_declines_are_told(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {"preempt": {}}
    config: dict[str, Any] = {"filterVerb": "", "preemptVerb": "preempt"}
    done, _ = ask(tmp_path, "preempt", "shop/search-3", "--call-extenders", answers=answers, **config)
    assert done.code == 1
    assert "the extender URL rejects it" in done.out


def test_the_whole_object_is_sent(tmp_path: Path) -> None:
    pod = tmp_path / "pod.yaml"
    pod.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web, annotations: {note: seen}}\nspec:\n  dnsPolicy: Default\n"
        "  containers: [{name: c, image: x, env: [{name: A, value: b}]}]\n"
    )
    _, server = ask(tmp_path, "explain", str(pod), "--call-extenders", answers=ONLY_NODE_7)
    sent = server.asked[0].about["Pod"]
    assert sent["metadata"]["annotations"] == {"note": "seen"}
    assert (sent["spec"]["dnsPolicy"], sent["spec"]["containers"][0]["env"]) == (
        "Default",
        [{"name": "A", "value": "b"}],
    )
    assert sent["spec"]["schedulerName"] == "default-scheduler"


@pytest.mark.parametrize("command", ["explain", "preempt", "simulate", "verify", "diff", "capacity"])
def test_no_command_has_an_extender_bind(tmp_path: Path, command: str) -> None:
    answers: dict[str, Answer] = {"filter": lambda about: {"NodeNames": about["NodeNames"]}}
    about = {"explain": ["shop/web-7"], "preempt": ["shop/web-7"], "diff": ["-A", "--cordon", "node-8"]}
    about["capacity"] = ["shop/web-7", "--max", "2"]
    done, server = ask(tmp_path, command, *about.get(command, []), "--call-extenders", answers=answers, bindVerb="bind")
    assert done.code in (0, 1), done.err
    assert set(server.verbs) == {"filter"}


def test_a_certificate_that_cannot_be_read_is_told_with_its_place(tmp_path: Path) -> None:
    tls: dict[str, Any] = {"tlsConfig": {"caFile": "/nowhere/ca.crt"}}
    done, _ = ask(tmp_path, "explain", "shop/web-7", "--call-extenders", answers={}, **tls)
    assert done.code == 2
    assert (
        "CONFIG: extenders[0].tlsConfig.caFile: /nowhere/ca.crt cannot be read: No such file or directory" in done.err
    )
    done, _ = ask(tmp_path, "explain", "shop/web-7", answers={}, **tls)
    assert done.code == 0
