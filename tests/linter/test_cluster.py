"""Rules with a snapshot decide where placeholders do not matter, and say where they do."""

import pytest

from kschedctl.linter.context import LintContext
from kschedctl.linter.examples import node, snapshot
from kschedctl.linter.lint_files import read_text
from kschedctl.linter.manifest_set import LintManifests
from kschedctl.linter.rules import RULES
from kschedctl.linter.run import check
from tests.linter.linting import overlay_of

POD = """apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: a, image: b, resources: {requests: {cpu: 400}}}]
"""
CLAIM = """apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""
WITH_CLAIM = f"{POD}  volumes: [{{name: d, persistentVolumeClaim: {{claimName: data}}}}]\n".replace("400", "1")
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: a, image: b}], nodeSelector: {pool: gpu}}
"""
NOT_FILLED_IN = "has a placeholder that is not filled in"


def with_(old: str, new: str, text: str = POD) -> str:
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    "text",
    [
        POD,
        # Fields that scheduling does not depend on.
        with_("image: b", "image: 'b:${TAG}', command: [sh, -c, 'echo $HOME ${JOB_COMPLETION_INDEX}']"),
        with_("image: b", "image: b, env: [{name: A, value: '{{ a }}'}]"),
        with_("{name: web}", "{name: web, annotations: {a: '<your address>'}}"),
        # A null is an absent field.
        with_("image: b", "image: b, ports: null, command: null"),
        with_("nodeSelector", "tolerations: null, nodeSelector", DEPLOYMENT),
    ],
)
def test_a_rule_decides_where_no_placeholder_matters(text: str) -> None:
    assert found({"a.yaml": text}) == (["KS501"], {})


@pytest.mark.parametrize(
    ("files", "object_", "why"),
    [
        ([with_("cpu: 400", "cpu: '${CPU}'")], "Pod/web", f"spec.containers[0].resources.requests.cpu {NOT_FILLED_IN}"),
        ([with_("name: web", "name: web, labels: {app: $APP}")], "Pod/web", f"metadata.labels.app {NOT_FILLED_IN}"),
        ([with_("replicas: 1", "replicas: ${N}", DEPLOYMENT)], "Deployment/web", f"spec.replicas {NOT_FILLED_IN}"),
        ([with_("replicas: 1", "replicas: many", DEPLOYMENT)], "Deployment/web", "spec.replicas cannot be read"),
        # An object that the pod names.
        (
            [WITH_CLAIM, with_("accessModes", "storageClassName: '${CLASS}', accessModes", CLAIM)],
            "Pod/web",
            f"PersistentVolumeClaim data: spec.storageClassName {NOT_FILLED_IN}",
        ),
        ([WITH_CLAIM, CLAIM, CLAIM], "Pod/web", "PersistentVolumeClaim data: several files have it"),
    ],
)
def test_a_rule_says_what_it_cannot_decide(files: list[str], object_: str, why: str) -> None:
    codes, undecided = found({f"{i}.yaml": text for i, text in enumerate(files)})
    assert codes == []
    assert undecided == {object_: why}


def found(files: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """Return the rules with findings, and why rules are undecided by object, for a cluster of 2 CPUs."""
    given = LintManifests([read_text(text.encode(), name) for name, text in files.items()])
    context = LintContext(given, overlay=overlay_of(snapshot(node("a", pool="cpu")), given))
    rules = [rule for rule in RULES if rule.code in ("KS501", "KS502", "KS503")]
    codes = [each.rule.code for each in check(rules, context)]
    return codes, {each.object: each.why for each in context.undecided}
