"""The code of docs/notebooks.md and the notebook that tunes a profile run, and show what they say."""

import ast
import doctest
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import nbformat
import polars
import pytest
from nbclient import NotebookClient
from traitlets.config import Config

import kschedctl
from tests.builders import load_engine, overview_of
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


PAGE = ROOT / "docs" / "notebooks.md"
TEXT = PAGE.read_text()
SHOP = ROOT / "fixtures" / "shop"
CELL = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| (`[^|]+`) \| ([^|]+) \|", re.MULTILINE)
#: The parts of documented names that stand for other names; the axes are those of the plan below.
PLACEHOLDERS = {"RESOURCE": ".+", "PLUGIN": "[A-Za-z]+", "AXIS": "strategy|fit|spread", "MEASURE": "[A-Za-z.]+"}


def loaded() -> kschedctl.SchedulingCluster:
    return kschedctl.load(SHOP / "cluster")


def simulation() -> kschedctl.Simulation:
    running = loaded().engine.simulation()
    list(running)
    return running


FRAMES: list[tuple[str, Callable[[], polars.DataFrame]]] = [
    ("PodList.to_frame()", lambda: loaded().pods.to_frame("polars")),
    ("NodeList.to_frame()", lambda: loaded().nodes.to_frame("polars")),
    ("NodesOverview.to_frame()", lambda: overview_of(load_engine(SHOP / "cluster")).to_frame("polars")),
    ("Explanation.to_frame()", lambda: loaded().explain("shop/web-7").to_frame("polars")),
    ("Pending.to_frame()", lambda: loaded().pending(changes=0).to_frame("polars")),
    ("Simulation.to_frame()", lambda: simulation().to_frame("polars")),
    ("Simulated.to_frame()", lambda: loaded().simulate().to_frame("polars")),
    ("Drained.to_frame()", lambda: loaded().drain("node-1").to_frame("polars")),
    ("Sweep.to_frame()", lambda: kschedctl.run_sweep(SHOP / "sweeps" / "tuning.yaml", jobs=1).to_frame("polars")),
]


def documented(heading: str) -> dict[str, list[str]]:
    """Return the possible types of the columns below a heading, by a pattern of their names."""
    (section,) = [part for part in re.split("^### ", TEXT, flags=re.MULTILINE) if f"`{heading}`" in part.split("\n")[0]]
    types = {}
    for names, kinds in ROW.findall(section):
        for name in re.findall("`([^`]+)`", names):
            pattern = re.escape(name)
            for placeholder, own in PLACEHOLDERS.items():
                pattern = pattern.replace(placeholder, f"({own})")
            types[pattern] = re.findall(r"[A-Z]\w+", kinds)
    return types


@pytest.mark.parametrize(("heading", "frame"), FRAMES, ids=[heading for heading, _ in FRAMES])
def test_the_page_has_the_columns_and_their_types(heading: str, frame: Callable[[], polars.DataFrame]) -> None:
    types = documented(heading)
    found = {name: kind.base_type().__name__ for name, kind in frame().schema.items()}
    for name, kind in found.items():
        rows = [kinds for pattern, kinds in types.items() if re.fullmatch(pattern, name)]
        assert any(kind in kinds for kinds in rows), f"the page has no column {name} of {kind}"
    assert [pattern for pattern in types if not any(re.fullmatch(pattern, name) for name in found)] == []


def test_data_frames_are_as_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    results = doctest.testfile(str(PAGE), module_relative=False)
    assert results.attempted >= 5
    assert results.failed == 0


def test_cells_show_something(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    cells = CELL.findall(TEXT)
    assert len(cells) >= 2
    for cell in cells:
        *before, last = ast.parse(cell).body
        assert isinstance(last, ast.Expr)
        exec(compile(ast.Module(before, []), str(PAGE), "exec"), names)
        shown = eval(compile(ast.Expression(last.value), str(PAGE), "eval"), names)
        assert shown._repr_html_().startswith("<")
