"""The first page: pending pods by cause, the map of the nodes, budgets that block, and elections."""

from __future__ import annotations

from typing import Final

import msgspec
from litestar import Router

from kschedctl.common.errors import ClusterError
from kschedctl.questions.charts import Bars, NodeMap
from kschedctl.questions.document import Paragraph, Provenance, Questions, Table
from kschedctl.questions.face import SchedulingCluster
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.inventory.answer import BudgetsOverview
from kschedctl.web.pages.handler import page
from kschedctl.web.pages.pending import pending_part
from kschedctl.web.pages.sheet import Part, Sheet, error_blocks
from kschedctl.web.pages.visit import Visit


def overview_page(cluster: SchedulingCluster, visit: Visit, handle: AnalysisHandle) -> str:
    """Return the first page."""
    sheet = Sheet(cluster, visit, handle)
    size = sheet.part(sheet.answer("show_cluster", visit.asked), sheet.view(), only=(Provenance,))
    parts = (
        size,
        pending_part(sheet, (), "Pending pods", (Bars, Paragraph, Questions, Table)),
        sheet.attempt("Nodes", "list_nodes", only=(NodeMap,)),
        _blocking_budgets(sheet),
        sheet.attempt("Leader elections", "show_leaders", only=(Paragraph, Table)),
    )
    return sheet.html("answer.html.j2", visit.server.name, parts)


def _blocking_budgets(sheet: Sheet) -> Part:
    heading = "Disruption budgets that allow no eviction"
    try:
        answer: BudgetsOverview = sheet.answer("show_budgets")
    except ClusterError as error:
        return sheet.laid_out(error_blocks(error), heading)
    blocking = tuple(each for each in answer.budgets if not each.allowed and each.selected)
    shown = msgspec.structs.replace(answer, budgets=blocking, total=len(blocking))
    return sheet.part(shown, sheet.view(), heading, only=(Table,))


OVERVIEW: Final = Router("/", route_handlers=[page("/", overview_page)])
