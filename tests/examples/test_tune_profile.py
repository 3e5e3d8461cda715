"""The notebook that tunes a profile runs without an error, and concludes what its sweep shows."""

import os
from collections.abc import Iterator
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from traitlets.config import Config

from tests.paths import ROOT

NOTEBOOK = ROOT / "examples" / "tune-profile" / "tune-profile.ipynb"


def code_cells(notebook: Any) -> Iterator[Any]:
    return (cell for cell in notebook.cells if cell.cell_type == "code")


def outputs(notebook: Any, mime: str) -> list[str]:
    found = [output for cell in code_cells(notebook) for output in cell.outputs]
    return [output.data[mime] for output in found if mime in output.get("data", {})]


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The notebook with its outputs; a cell that fails is an error of the fixture."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    own = str(tmp_path_factory.mktemp("jupyter"))
    client = NotebookClient(
        notebook,
        timeout=300,
        resources={"metadata": {"path": str(NOTEBOOK.parent)}},
        # Sockets that are files, so that no port of the machine is open.
        config=Config({"KernelManager": {"transport": "ipc", "ip": f"{own}/kernel"}}),
    )
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("JUPYTER_RUNTIME_DIR", own)
        environment.setenv("IPYTHONDIR", own)
        return client.execute(env={**os.environ, "PYTHONPATH": str(ROOT)})


def test_it_is_stored_without_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert [(cell.outputs, cell.execution_count) for cell in code_cells(notebook)] == [
        ([], None) for _ in code_cells(notebook)
    ]


def test_it_concludes_with_a_sentence(executed: Any) -> None:
    *_, last = code_cells(executed)
    assert last.outputs[0].text == (
        "With MostAllocated and the weights 1 and 2, the pods of the sale need 5 nodes instead of 9, and the skew "
        "over the zones stays 2.\n"
    )


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param("4 of 77 pods are pending", id="the cluster"),
        pytest.param("28 of 29 pods placed; 1 pending", id="the simulation"),
        pytest.param("7 on the Pareto front", id="the sweep"),
    ],
)
def test_it_shows(shown: str, executed: Any) -> None:
    assert any(shown in html for html in outputs(executed, "text/html"))
