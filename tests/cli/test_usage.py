"""Errors in arguments have the form of all errors: what is wrong, then what to do."""

import pytest

from tests.cli.in_process import run

ERRORS = {
    "nodes --badd": "error: there is no option --badd\n  did you mean --as or --by?\n  see kschedctl nodes -h\n",
    "explain --node": "error: --node: a value is missing\n",
    "pendin": "error: there is no command pendin\n  did you mean pending?\n  see kschedctl -h\n",
    "leader ru": "error: there is no command ru\n  did you mean run?\n  see kschedctl leader -h\n",
    "frobnicate": "error: there is no command frobnicate\n  see kschedctl -h\n",
    "pending here": "error: unexpected: here\n  see kschedctl pending -h\n",
    "leader run": "error: COMMAND is missing\n  see kschedctl leader run -h\n",
    "drain": "error: NODE: name nodes, or use --selector or --zone\n  see kschedctl drain -h\n",
    "rollout a b": "error: name only one workload, not a and b\n  see kschedctl rollout -h\n",
    "explain --as-group x": "error: --as-group: requires --as\n  see kschedctl explain -h\n",
    "serve --host ::1 --listen :80": "error: --listen: --host or --port is given, too\n  see kschedctl serve -h\n",
    "snapshot info": "error: FILE: name a file, a folder or an archive\n  see kschedctl snapshot info -h\n",
}
USAGES = {
    "explain": "[OPTIONS] [POD]...",
    "rule": "[OPTIONS] [RULE]...",
    "snapshot info": "[OPTIONS] [FILE]...",
    "leader run": "[OPTIONS] COMMAND...",
    "sweep": "[OPTIONS] PLAN",
}


@pytest.mark.parametrize("words", ERRORS)
def test_errors_in_arguments(words: str) -> None:
    done = run(*words.split())
    assert (done.code, done.err, done.out) == (2, ERRORS[words], "")


@pytest.mark.parametrize("command", USAGES)
def test_usage_lines(command: str) -> None:
    assert run(*command.split(), "--help").out.splitlines()[0] == f"Usage: kschedctl {command} {USAGES[command]}"


def test_rule_lists_all_rules() -> None:
    listed = run("rule").out.splitlines()
    assert listed[0].split() == ["rule", "severity", "place", "problem"]
    assert len(listed) > 100


def test_snapshot_info_takes_the_option_of_other_commands(tmp_path_factory: pytest.TempPathFactory) -> None:
    shop = "fixtures/shop/cluster"
    assert run("snapshot", "info", "--snapshot", shop).out == run("snapshot", "info", shop).out != ""
