"""The pages of rules as data and as text, and the page of findings."""

import json
from pathlib import Path

import lxml.html
import pytest

from kschedctl.linter.rules import RULES
from kschedctl.output.data_forms import as_json
from kschedctl.questions.frame import View
from kschedctl.questions.lint.analysis import pages
from kschedctl.questions.lint.document import rule_document
from tests.answer_schema import validate
from tests.cli.in_process import run
from tests.questions.printing import lines


def test_pages_are_as_the_schema_says() -> None:
    validate(json.loads(as_json(pages(RULES))))


def test_one_rule_has_its_page_and_several_a_line_each() -> None:
    one = lines(rule_document(pages(RULES[:1]), View()))
    assert one[0] == "KS101 node-affinity-unsatisfiable"
    assert "Fails" in one
    assert "Passes" in one
    several = lines(rule_document(pages(RULES), View()))
    assert len([line for line in several if line.strip().startswith("KS")]) == len(RULES)


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: c, image: x}]
  nodeSelector: {kubernetes.io/arch: x86_64, node-role.kubernetes.io/master: ""}
---
apiVersion: v1
kind: Pod
metadata: {name: api}
spec:
  containers: [{name: c, image: x}]
  nodeSelector: {kubernetes.io/arch: x86_64}
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> lxml.html.HtmlElement:
    folder: Path = tmp_path_factory.mktemp("manifests")
    (folder / "web.yaml").write_text(POD)
    return lxml.html.fromstring(run("lint", "web.yaml", "-o", "html", folder=folder).out)


def texts(page: lxml.html.HtmlElement, selector: str) -> list[str]:
    return [" ".join(each.text_content().split()) for each in page.cssselect(selector)]


@pytest.mark.parametrize(
    ("selector", "first"),
    [
        ("p.lead.tone-bad", "2 errors, 2 warnings in 1 of 1 file with 2 objects."),
        ("figure.bars figcaption", "Findings by rule"),
        (".bars tbody tr td:first-child", "KS103 impossible-node-label-value"),
        ("tr.tone-bad td:nth-child(5)", "no node has kubernetes.io/arch=x86_64"),
        ("tr.tone-bad td:nth-child(3)", "web.yaml:6"),
    ],
)
def test_parts_of_the_page(page: lxml.html.HtmlElement, selector: str, first: str) -> None:
    assert texts(page, selector)[:1] == [first]


def test_each_rule_has_the_command_that_prints_its_page(page: lxml.html.HtmlElement) -> None:
    assert "kschedctl rule KS103" in texts(page, "td")


def test_lines_of_findings_are_shown(page: lxml.html.HtmlElement) -> None:
    assert any("nodeSelector" in text and "^" in text for text in texts(page, "pre"))
