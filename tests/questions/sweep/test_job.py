"""Rows of cases: what each axis changes, and a file of results, in which nothing is done again."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kschedctl.common.errors import InputError
from kschedctl.questions.sweep.cases import read_plan
from kschedctl.questions.sweep.job import Row, SweepJob
from kschedctl.questions.sweep.results import digest, open_results
from tests.builders import make_node, make_pod, write_snapshot
from tests.cli.in_process import run
from tests.paths import ROOT
from tests.questions.sweep.plans import NODES, make_job
from tests.trials.whatif.test_pods import deployment, web

SHOP = ROOT / "fixtures" / "shop"


def rows(job: SweepJob) -> list[Row]:
    return [job.row(number) for number in range(1, len(job.read.cases) + 1)]


def told(job: SweepJob, column: str) -> list[Any]:
    return [row.error or row.values[column] for row in rows(job)]


@pytest.mark.parametrize(
    ("always", "axes", "placed"),
    [
        # 3 cpu fit on a-2 and twice on b-1, and not on a-1, where 2 of 4 are in use.
        ({}, {"seed": [None]}, [2]),
        ({}, {"fail-zone": [None, "a", "b"]}, [2, 2, 1]),
        ({}, {"size": {"of": "set-request", "value": "cpu={}", "values": [None, 2, 5, 9]}}, [2, 2, 1, 0]),
        ({}, {"cordon": [["a-2", "b-1"], ["a-2"], ["b-1"]]}, [0, 2, 1]),
        ({}, {"fail-zone": [None, "b"], "size": {"of": "set-request", "values": ["cpu=2", "cpu=5"]}}, [2, 1, 2, 0]),
        # What-ifs of all cases are made first, and those of pods count in each.
        ({"fail-zone": "b"}, {"cordon": [None, "a-2"]}, [1, 0]),
        ({"set-request": "cpu=5"}, {"fail-zone": [None, "b"]}, [1, 0]),
    ],
)
def test_what_ifs(always: dict[str, str], axes: dict[str, Any], placed: list[int], tmp_path: Path) -> None:
    assert told(make_job(tmp_path, base={"whatIf": always}, axes=axes), "placed") == placed


def test_a_fleet_of_snapshots(tmp_path: Path) -> None:
    for name, cpu in (("small", "2"), ("large", "9")):
        (tmp_path / name).mkdir()
        write_snapshot(tmp_path / name, [make_node("n", cpu=cpu)], [make_pod("p", requests={"cpu": "5"})])
    job = make_job(tmp_path, axes={"snapshot": ["small", "large", ["small", "large"]]}, measure=["placed", "nodes"])
    assert [tuple(row.values.values()) for row in rows(job)] == [(0, 1), (1, 1), (1, 1)]


def test_the_clusters_of_a_snapshot_that_holds_several(tmp_path: Path) -> None:
    for name, cpu in (("small", "2"), ("large", "9")):
        (tmp_path / "fleet" / name).mkdir(parents=True)
        write_snapshot(tmp_path / "fleet" / name, [make_node("n", cpu=cpu)], [make_pod("p", requests={"cpu": "5"})])
    job = make_job(tmp_path, base={"snapshot": "fleet"}, axes={"cluster": ["small", "large", None]})
    *found, refused = told(job, "placed")
    assert found == [0, 1]
    assert "holds 2 clusters: large and small" in refused
    job = make_job(tmp_path, base={"snapshot": "fleet", "cluster": "large"}, axes={"seed": [None]})
    assert told(job, "placed") == [1]


def test_weights_and_arguments(tmp_path: Path) -> None:
    # A pod of 1 cpu; 2 of 4 are in use on a-1, none of 4 and of 8 on the others.
    axes = {
        "args.NodeResourcesFit.scoringStrategy.type": ["LeastAllocated", "MostAllocated"],
        "weight.NodeResourcesFit": [100],
        "weight.NodeResourcesBalancedAllocation": [0],
        "weight.ImageLocality": [0],
    }
    what_ifs = {"delete": "pod/new-2", "set-request": "cpu=1"}
    job = make_job(tmp_path, base={"whatIf": what_ifs}, axes=axes, measure=["utilisation.cpu.max", "nodesUsed"])
    # LeastAllocated leaves 2 of 4 as the most; MostAllocated makes it 3 of 4.
    assert [tuple(row.values.values()) for row in rows(job)] == [(0.5, 2), (0.75, 1)]
    assert [row.warnings for row in rows(job)] == [(), ()]


def test_configurations_and_seeds_and_releases(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{schedulerName: x}]\n"
    )
    axes = {"config": [None, "one.yaml"], "kubernetes-version": ["1.36", "1.2"], "seed": [1]}
    found = rows(make_job(tmp_path, axes=axes))
    assert [row.values.get("placed") for row in found] == [2, None, 0, None]
    assert "1.2" in found[1].error


def test_a_case_that_fails_says_why_and_names_files_as_the_plan_does(tmp_path: Path) -> None:
    axes = {"apply": [None, "gone.yaml"], "fail-zone": [None, "c"]}
    found = rows(make_job(tmp_path, axes=axes))
    assert [bool(row.error) for row in found] == [False, True, True, True]
    assert found[1].error.startswith('fail zone c: the cluster has no node in zone "c"')
    assert found[2].error.startswith("gone.yaml: there is no such file")
    assert str(tmp_path) not in str(found)


def test_what_to_be_careful_about_is_told_of_each_case(tmp_path: Path) -> None:
    config = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
    (tmp_path / "config.yaml").write_text(f"{config}- pluginConfig: [{{name: Nothing}}]\n")
    found = rows(make_job(tmp_path, axes={"config": [None, "config.yaml"]}))
    told = 'profiles[0].pluginConfig[0]: there is no plugin "Nothing"; its args have no effect'
    assert [(row.error, row.warnings) for row in found] == [("", ()), ("", (told,))]


def test_a_mistake_of_ours_costs_its_case_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = make_job(tmp_path, axes={"seed": [1]})
    monkeypatch.setattr("kschedctl.questions.sweep.job.measure", lambda answered, columns: 1 / 0)
    assert job.row(1).error == "this is a bug in kschedctl: ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    ("fields", "values"),
    [
        ({"ask": "explain"}, {"pods": 2, "placed": 2, "waiting": 0, "feasibleNodes": 2}),
        ({"ask": "explain", "of": "default/old"}, {"pods": 1, "placed": 1, "feasibleNodes": 3}),
        ({"ask": "capacity", "of": "default/new-1"}, {"copies": 3, "nodesTaking": 2}),
        ({"ask": "drain", "of": "a-*"}, {"drained": 2, "evicted": 1, "waiting": 0}),
        ({"ask": "drain", "of": ["a-1"]}, {"drained": 1, "evicted": 1, "waiting": 0}),
    ],
    ids=str,
)
def test_other_questions(fields: dict[str, Any], values: dict[str, int], tmp_path: Path) -> None:
    (row,) = rows(make_job(tmp_path, axes={"seed": [None]}, measure=list(values), **fields))
    assert (row.values, row.error) == (values, "")


@pytest.mark.parametrize(
    ("ask", "values"), [("explain", {"pods": 3, "placed": 3}), ("capacity", {"copies": 15, "nodesTaking": 3})]
)
def test_a_workload_is_its_pending_pods_and_those_that_are_missing(
    ask: str, values: dict[str, int], tmp_path: Path
) -> None:
    write_snapshot(tmp_path, NODES, web("a-1", "", ""), deployment(4)).rename(tmp_path / "cluster.json")
    job = make_job(tmp_path, ask=ask, of="deploy/default/web", axes={"seed": [None]}, measure=list(values))
    (row,) = rows(job)
    assert (row.values, row.error) == (values, "")


def test_what_is_asked_about_is_an_axis(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(json.dumps(POD))
    axes = {"of": ["default/new-1", "pod.yaml"]}
    assert told(make_job(tmp_path, ask="capacity", axes=axes, measure=["copies"]), "copies") == [3, 1]


POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "big"},
    "spec": {"containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": "5"}}}]},
}


#: A case of each plan of the shop, as the options of the command that says the same.
SAME = [
    ("zones.yaml", 1, ["--set-replicas", "deploy/shop/web=6"]),
    ("zones.yaml", 6, ["--set-replicas", "deploy/shop/web=12", "--fail-zone", "eu-central-1b"]),
    ("zones.yaml", 8, ["--set-replicas", "deploy/shop/web=18", "--fail-zone", "eu-central-1a"]),
]


@pytest.mark.parametrize(("plan", "number", "options"), SAME)
def test_a_row_is_what_the_command_says(plan: str, number: int, options: list[str]) -> None:
    path = SHOP / "sweeps" / plan
    row = SweepJob(read_plan(path), path.parent).row(number)
    assert [row.values[name] for name in ("placed", "waiting", "evicted")] == simulated(options)


def simulated(options: list[str]) -> list[int]:
    printed = run("simulate", "--snapshot", str(SHOP / "cluster"), *options, "-o", "json")
    answer = json.loads(printed.out)
    return [answer["placed"], sum(len(group["pods"]) for group in answer["waiting"]), len(answer["evicted"])]


def test_the_configuration_of_a_case_reproduces_its_row(tmp_path: Path) -> None:
    path = SHOP / "sweeps" / "tuning.yaml"
    job = SweepJob(read_plan(path), path.parent)
    printed = {number: run("sweep", str(path), "--config-of", str(number)).out for number in (1, 10, 11, 17)}
    found = {}
    for number, text in printed.items():
        file = tmp_path / f"{number}.yaml"
        file.write_text(text)
        found[number] = simulated(["--fail-zone", "eu-central-1c", "--config", str(file)])[:2]
    expected = {number: [job.row(number).values[name] for name in ("placed", "waiting")] for number in printed}
    assert found == expected
    assert len({tuple(each) for each in expected.values()}) > 1
    assert yaml.safe_load(printed[17]) == job.configuration(17)


def test_cases_that_start_alike_are_worked_on_one_after_another(tmp_path: Path) -> None:
    job = make_job(tmp_path, axes={"seed": [1, 2], "kubernetes-version": ["1.36", "1.37"]})
    assert job.in_order(range(1, 5)) == [1, 3, 2, 4]
    assert job.in_order([4, 1, 2]) == [1, 2, 4]


AXES: dict[str, Any] = {"fail-zone": [None, "a", "b", "c"]}


def filled(job: SweepJob, file: Path, *numbers: int, resume: bool = False) -> list[int]:
    """Write down the rows of some cases; the cases that are left then."""
    with open_results(str(file), job, resume=resume) as results:
        for number in numbers:
            results.add(job.row(number))
        return results.left(len(job.read.cases))


def test_what_is_done_is_not_left(tmp_path: Path) -> None:
    job, file = make_job(tmp_path, axes=AXES), tmp_path / "results.jsonl"
    assert filled(job, file, 1, 3) == [2, 4]
    # The last one fails, and is tried again.
    assert filled(job, file, 4, resume=True) == [2, 4]
    with open_results(str(file), job, resume=True) as results:
        assert results.rows == {number: job.row(number) for number in (1, 3, 4)}


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_last_line_that_was_cut_off_is_done_again(cut: int, tmp_path: Path) -> None:
    job, file = make_job(tmp_path, axes=AXES), tmp_path / "results.jsonl"
    filled(job, file, 1, 2, 3)
    whole = file.read_bytes()
    file.write_bytes(whole[:-cut])
    assert filled(job, file, 3, resume=True) == [4]
    assert file.read_bytes() == whole


def test_without_a_file_nothing_is_written(tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    with open_results("", make_job(tmp_path, axes=AXES), resume=False) as results:
        assert results.left(4) == [1, 2, 3, 4]
    assert sorted(tmp_path.iterdir()) == [*before, tmp_path / "cluster.json"]


def test_resuming_without_a_file_begins_one(tmp_path: Path) -> None:
    assert filled(make_job(tmp_path, axes=AXES), tmp_path / "results.jsonl", resume=True) == [1, 2, 3, 4]


def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    job, file = make_job(tmp_path, axes=AXES), tmp_path / "results.jsonl"
    filled(job, file, 1)
    before = file.read_bytes()
    with pytest.raises(InputError, match=r"results.jsonl: already exists\n  --resume continues"):
        filled(job, file, 1)
    assert file.read_bytes() == before


@pytest.mark.parametrize("change", ["plan", "snapshot", "file"])
def test_the_file_of_another_sweep_is_refused(change: str, tmp_path: Path) -> None:
    (tmp_path / "more.yaml").write_text("")
    axes = {**AXES, "apply": [None, "more.yaml"]}
    file = tmp_path / "results.jsonl"
    filled(make_job(tmp_path, axes=axes), file, 1)
    before = file.read_bytes()
    if change == "plan":
        axes = {**AXES, "apply": ["more.yaml", None]}
    elif change == "snapshot":
        write_snapshot(tmp_path, [make_node("other")])
    else:
        (tmp_path / "more.yaml").write_text("# changed\n")
    with pytest.raises(InputError, match="has the results of another sweep"):
        filled(make_job(tmp_path, axes=axes), file, 2, resume=True)
    assert file.read_bytes() == before


@pytest.mark.parametrize("content", ["apiVersion: v1\nkind: Pod\n", "{}\n", "no line", '{"kind": "Sweep"}\n'])
def test_what_is_no_file_of_results_stays_as_it_is(content: str, tmp_path: Path) -> None:
    file = tmp_path / "other.yaml"
    file.write_text(content)
    with pytest.raises(InputError, match="not a file of results"):
        filled(make_job(tmp_path, axes=AXES), file, 1, resume=True)
    assert file.read_text() == content


def test_the_name_and_the_age_of_files_do_not_count(tmp_path: Path) -> None:
    job = make_job(tmp_path, axes=AXES)
    before = digest(job)
    (tmp_path / "cluster.json").touch()
    assert digest(job) == before
