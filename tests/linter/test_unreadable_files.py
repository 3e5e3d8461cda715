"""Unreadable files: manifests with an error are found fault with, templates are named, others are counted."""

import pytest

from kschedctl.linter.lint_files import read_text
from kschedctl.linter.rules import RULES
from kschedctl.linter.run import LintRequest, lint_files

HEAD = "apiVersion: v1\nkind: Pod\n"
FLAWED = f"{HEAD}metadata: {{name: web\n"
TEMPLATE = f"{HEAD}metadata:\n  name: {{{{ .Release.Name }}}}\n"
TERRAFORM = f"%{{ for pod in pods ~}}\n{HEAD}metadata: {{name: ${{pod}}}}\n%{{ endfor ~}}\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"web.yaml": FLAWED}, ["KS901 web.yaml"]),
        ({"web.yaml": f"- {HEAD.replace(chr(10), chr(10) + '  ')}metadata: {{name: web\n"}, ["KS901 web.yaml"]),
        ({"web.json": '{"apiVersion": "v1", "kind": "Pod", "spec": }'}, ["KS901 web.json"]),
        # A variable of a shell is no reason for an error elsewhere.
        ({"web.yaml": f"{FLAWED}\n# ${{HOME}}\n"}, ["KS901 web.yaml"]),
        # Files that are no manifests.
        ({"tsconfig.json": '{\n  // options\n  "compilerOptions": {"strict": true,},\n}\n'}, ["counted tsconfig.json"]),
        ({"page.yaml": '<html lang="en">\n<body>: a: b</body>\n</html>\n'}, ["counted page.yaml"]),
        ({"tape.yaml": 'body: \'{"kind": "Pod", "apiVersion": "v1"}\'\nurl: a: b\n'}, ["counted tape.yaml"]),
        ({"values.yaml": "a: [\n"}, ["counted values.yaml"]),
        # Templates of other tools than Helm.
        ({"pods.yaml": TERRAFORM}, ["KS902 pods.yaml", "undecided pods.yaml"]),
        ({"web.yaml": f"{HEAD}spec: {{priority: ${{PRIORITY}}}}\n"}, ["KS902 web.yaml", "undecided web.yaml"]),
        # A variable of a shell in a string, a comment, or a format of curl is no template.
        ({"web.yaml": f"{HEAD}spec: {{args: ['${{HOME}}']]}}\n"}, ["KS901 web.yaml"]),
        ({"web.yaml": f'{HEAD}spec: {{args: ["${{HOME}}"]]}}\n'}, ["KS901 web.yaml"]),
        ({"web.yaml": f"{HEAD}spec: [[}} # ${{HOME}}\n"}, ["KS901 web.yaml"]),
        ({"web.yaml": f"{HEAD}args: |\n  %{{http_code}}\nspec: [[}}\n"}, ["KS901 web.yaml"]),
        ({"testdata/web.yaml": TEMPLATE}, ["counted testdata/web.yaml"]),
        ({"pkg/testdata/chart/templates/web.yaml": TEMPLATE}, ["counted pkg/testdata/chart/templates/web.yaml"]),
        ({"table.yaml": "a: {{ b }}: c\n"}, ["counted table.yaml"]),
        ({"web.yaml": TEMPLATE}, ["KS902 web.yaml"]),
        # Once per chart, subcharts included.
        ({"web/templates/a.yaml": TEMPLATE, "web/templates/b.yaml": TEMPLATE}, ["KS902 web/templates/a.yaml"]),
        (
            {"web/Chart.yaml": "a: 1", "web/ci/a.yaml": TEMPLATE, "web/templates/b.yaml": TEMPLATE},
            ["KS902 web/ci/a.yaml"],
        ),
        (
            {
                "web/Chart.yaml": "a: 1",
                "web/templates/b.yaml": TEMPLATE,
                "web/charts/db/Chart.yaml": "a: 1",
                "web/charts/db/templates/b.yaml": TEMPLATE,
            },
            ["KS902 web/charts/db/templates/b.yaml"],
        ),
        ({"web/Chart.yaml": "a: 1", "web/values.yaml": "a: [\n"}, ["counted web/values.yaml"]),
    ],
)
def test_only_manifests_are_found_fault_with(files: dict[str, str], expected: list[str]) -> None:
    read = [read_text(text.encode(), name) for name, text in sorted(files.items())]
    done = lint_files(read, LintRequest(rules=[rule for rule in RULES if rule.code in ("KS901", "KS902")]))
    found = [f"{each.rule.code} {each.file.name}" for each in done.found]
    found += [f"counted {each.file.name}" for each in done.no_manifests]
    assert [*found, *(f"undecided {each.object}" for each in done.undecided)] == expected
