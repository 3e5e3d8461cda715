"""Charts of a document, as texts that a table of cases can name."""

from functools import partial

from kschedctl.questions.charts import Bars, NodeMap
from kschedctl.questions.frame import View
from kschedctl.questions.nodes.analysis import describe_node
from kschedctl.trials.loaded_cluster import LoadedCluster
from tests.builders import overview_of


def view_of(cluster: LoadedCluster) -> View:
    """Return the view of formats that draw."""
    return View(wide=True, drawn=True, overview=overview_of(cluster), describe=partial(describe_node, cluster))


def parts(bars: Bars) -> dict[str, list[str]]:
    """Return the segments of each bar, each with its kind, by the first text of the row."""
    return {row.cells[0]: [f"{bars.kinds[s.kind].name}: {s.text}" for s in row.segments] for row in bars.rows}


def cells(bars: Bars) -> list[tuple[str, ...]]:
    """Return the texts of the rows."""
    return [row.cells for row in bars.rows]


def coloured(chart: NodeMap, colouring: int = 0) -> dict[str, str]:
    """Return the kind of each node in a colouring."""
    return {cell.name: chart.colourings[colouring].kinds[cell.kinds[colouring]].name for cell in chart.cells}


def about(chart: NodeMap) -> dict[str, tuple[str, ...]]:
    """Return the lines about each node."""
    return {cell.name: cell.about for cell in chart.cells}
