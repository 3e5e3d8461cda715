"""The pages of rules as data and as text."""

import json

from kschedctl.linter.rules import RULES
from kschedctl.output.data_forms import as_json
from kschedctl.questions.frame import View
from kschedctl.questions.lint.analysis import pages
from kschedctl.questions.lint.document import rule_document
from tests.answer_schema import validate
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
