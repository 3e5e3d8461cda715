"""The file of results: what is done is not done again, and another sweep's file is not touched."""

from pathlib import Path
from typing import Any

import pytest

from kschedctl.common.errors import InputError
from kschedctl.questions.sweep.job import SweepJob
from kschedctl.questions.sweep.results import digest, open_results
from tests.builders import make_node, write_snapshot
from tests.questions.sweep.plans import make_job

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
