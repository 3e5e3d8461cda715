"""Objects as kustomizations build them: compared with Kustomize itself, and as rules see them."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from kschedctl.linter.kustomization import kustomizations
from kschedctl.linter.kustomize_builds import UNKNOWN
from kschedctl.linter.lint_files import read_files, read_text
from kschedctl.linter.manifest_set import LintManifests
from kschedctl.linter.rules import RULES
from kschedctl.linter.run import LintRequest, LintResult, lint_files
from kschedctl.linter.values import at

KUBECTL = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
BARE = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  template:
    spec:
      containers:
      - {name: web, image: nginx, ports: [{containerPort: 80}], env: [{name: A, value: a}]}
      - {name: log, image: log}
      tolerations: [{key: a, operator: Exists}]
"""
WEB = BARE.replace(
    "  template:\n", "  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n"
)
BUDGET = """apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}
"""
CLAIM = """apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {resources: {requests: {storage: 1Gi}}}
"""
DEPLOYMENT = "apiVersion: apps/v1\nkind: Deployment\n"
COMPONENT = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"


def of(kustomization: str, web: str = WEB, **others: str) -> dict[str, str]:
    """Return the files of a folder with a kustomization; ``__`` in a name is a slash."""
    named = {f"{name.replace('__', '/')}.yaml": text for name, text in others.items()}
    return {"web.yaml": web, "kustomization.yaml": f"resources: [web.yaml]\n{kustomization}", **named}


def patched(spec: str) -> dict[str, str]:
    """Return the files of a folder with a strategic merge patch of the pods' spec."""
    patch = (
        f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec: {{template: {{spec: {{{spec}}}}}}}\n"
    )
    return of("patches: [{path: p.yaml}]\n", p=patch)


def operations(target: str, *each: str) -> dict[str, str]:
    """Return the files of a folder with a JSON patch of a target."""
    lines = "".join(f"    - {{{one}}}\n" for one in each)
    return of(f"patches:\n- target: {{{target}}}\n  patch: |-\n{lines}")


FIELDS = "[{path: spec/selector/matchLabels, kind: Deployment, create: true}]"
BUILDS = {
    "selectors of labels": of("labels: [{includeSelectors: true, pairs: {app: web}}]\n", BARE),
    "selectors of commonLabels": of("commonLabels: {app: web}\n", f"{BARE}---\n{BUDGET}"),
    "labels of templates": of("labels: [{includeTemplates: true, pairs: {tier: front}}]\n"),
    "labels alone": of("labels: [{pairs: {tier: front}}]\n"),
    "labels at fields": of(f"labels: [{{pairs: {{tier: front}}, fields: {FIELDS}}}]\n"),
    "annotations": of("commonAnnotations: {a: b}\n"),
    "a namespace": of("namespace: shop\n", f"{WEB}---\n{BUDGET}"),
    "replicas": of("replicas: [{name: web, count: 5}]\n"),
    "a patch of a mapping": patched("nodeSelector: {pool: web}"),
    "a patch of a container": patched("containers: [{name: log, workingDir: /}, {name: c, image: c}]"),
    "a patch of ports": patched("containers: [{name: web, ports: [{containerPort: 80, hostPort: 8080}]}]"),
    "a patch that replaces a list": patched("tolerations: [{key: b, operator: Exists}]"),
    "a patch that deletes an item": patched("containers: [{name: log, $patch: delete}]"),
    "a patch that deletes a field": patched("tolerations: null"),
    "a patch that replaces a merged list": patched("containers: [{name: a, image: a}, {$patch: replace}]"),
    "a patch that deletes an object": of(
        "namespace: shop\npatches:\n- patch: |-\n    $patch: delete\n    apiVersion: policy/v1\n"
        "    kind: PodDisruptionBudget\n    metadata: {name: web}\n",
        f"{WEB}---\n{BUDGET}",
    ),
    "the older fields of patches": of(
        "patchesStrategicMerge: [p.yaml]\npatchesJson6902:\n"
        "- {path: q.yaml, target: {group: apps, version: v1, kind: Deployment, name: web}}\n",
        p="apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {paused: true}\n",
        q="- {op: remove, path: /spec/replicas}\n",
    ),
    "a JSON patch": operations(
        "kind: Deployment",
        "op: replace, path: /spec/paused, value: true",
        "op: add, path: /spec/template/spec/tolerations/-, value: {key: b, operator: Exists}",
        "op: add, path: /spec/template/spec/tolerations/0, value: {key: c, operator: Exists}",
        "op: add, path: /metadata/annotations, value: {a: c}",
        "op: add, path: /metadata/annotations/x~1y, value: z",
        "op: move, from: /spec/template/spec/containers/0/env, path: /spec/template/spec/containers/1/env",
        "op: copy, from: /spec/replicas, path: /spec/revisionHistoryLimit",
        "op: test, path: /spec/replicas, value: 2",
    ),
    "a target by pattern": operations("kind: Deploy.*, name: w.b", "op: add, path: /spec/paused, value: true"),
    "a target by labels": {
        **operations("labelSelector: 'app in (web)'", "op: add, path: /spec/paused, value: true"),
        "web.yaml": WEB.replace("{name: web}", "{name: web, labels: {app: web}}", 1) + f"---\n{BUDGET}",
    },
    "a patch of a target keeps kind and name": of(
        "patches:\n- target: {kind: Deployment}\n  patch: |-\n    apiVersion: v1\n    kind: Any\n"
        "    metadata: {name: x}\n    spec: {replicas: 4}\n"
    ),
    "another kind": operations("kind: Deployment", "op: replace, path: /kind, value: StatefulSet"),
    "a component": of("components: [part]\n", part__kustomization=f"{COMPONENT}replicas: [{{name: web, count: 7}}]\n"),
    "a base with a prefix": of(
        "bases: [base]\nnamespace: shop\n",
        base__kustomization="resources: [claim.yaml]\nnamePrefix: a-\nlabels: [{pairs: {a: b}}]\n",
        base__claim=CLAIM,
    ),
    "a patch of an object with a prefix": {
        "kustomization.yaml": "resources: [base]\npatches: [{path: p.yaml}]\n",
        "p.yaml": CLAIM.replace("name: data", "name: a-data").replace("1Gi", "2Gi"),
        "base/kustomization.yaml": "resources: [claim.yaml]\nnamePrefix: a-\n",
        "base/claim.yaml": CLAIM,
    },
    "patches of objects in a former namespace": {
        "kustomization.yaml": "resources: [base]\nnamespace: b\npatches:\n- path: p.yaml\n"
        "- target: {namespace: orig}\n  patch: |-\n    - {op: add, path: /metadata/labels, value: {a: b}}\n",
        "p.yaml": CLAIM.replace("name: data", "name: data, namespace: a").replace("1Gi", "2Gi"),
        "base/kustomization.yaml": "resources: [claim.yaml]\nnamespace: a\n",
        "base/claim.yaml": CLAIM.replace("name: data", "name: data, namespace: orig"),
    },
    "a transformer of labels": of(
        "transformers: [t.yaml]\n",
        t="apiVersion: builtin\nkind: LabelTransformer\nmetadata: {name: t}\nlabels: {a: b}\n"
        "fieldSpecs: [{path: spec/template/metadata/labels, create: true, kind: Deployment}]\n",
    ),
    "a replacement": of(
        "replacements:\n- source: {kind: PersistentVolumeClaim, fieldPath: spec.resources.requests.storage}\n"
        "  targets:\n  - select: {kind: Deployment}\n"
        "    fieldPaths: ['spec.template.spec.containers.[name=web].env.[name=A].value']\n",
        f"{WEB}---\n{CLAIM}",
    ),
    "a custom kind": {
        name: text.replace("apps/v1", "example.com/v1") for name, text in patched("containers: [{name: a}]").items()
    },
}


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def built() -> list[Any]:
    files = read_files(["."]).files
    found = LintManifests(files, "", kustomizations(files))
    read = [obj for obj in found.objects if obj.file.name in found.kustomizations.read]
    return [obj.raw for obj in read if not (obj.patched or obj.deleted)]


def in_order(value: Any) -> Any:
    """Return a value with its lists sorted: Kustomize puts what a patch adds first."""
    if isinstance(value, dict):
        return {key: in_order(each) for key, each in value.items()}
    return (
        sorted(map(in_order, value), key=lambda each: json.dumps(each, sort_keys=True))
        if isinstance(value, list)
        else value
    )


@KUBECTL
@pytest.mark.parametrize("name", BUILDS)
def test_objects_are_those_of_kustomize(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, BUILDS[name])
    done = subprocess.run(["kubectl", "kustomize", "."], check=True, capture_output=True, text=True)
    wanted = list(yaml.safe_load_all(done.stdout))
    for each in wanted:
        # References are changed with a name, so the objects here have the names of their files.
        each["metadata"]["name"] = each["metadata"]["name"].removeprefix("a-")
    assert in_order(built()) == in_order(wanted)


def lint(files: dict[str, str], *rules: str) -> LintResult:
    read = [read_text(text.encode(), name) for name, text in files.items()]
    return lint_files(read, LintRequest(rules=[rule for rule in RULES if rule.code in rules]))


def overlays(**kustomizations: str) -> dict[str, str]:
    """Return a base of a Deployment, a budget and a claim, with overlays."""
    base = {"base/kustomization.yaml": "resources: [web.yaml]\n", "base/web.yaml": f"{WEB}---\n{BUDGET}---\n{CLAIM}"}
    return base | {
        f"{name}/kustomization.yaml": f"resources: [../base]\n{text}" for name, text in kustomizations.items()
    }


ADD = "patches: [{target: {kind: Deployment}, patch: '[{op: add, path: %s, value: %s}]'}]\n"
ARM = "patches: [{target: {kind: Deployment}, patch: '[{op: add, path: %s, value: x}]'}]\n"
SPEC = "/spec/template/spec"


@pytest.mark.parametrize(
    ("files", "rule", "found"),
    [
        # A budget of 2 forbids each eviction of 2 pods, and none of 3.
        (overlays(), "KS301", ["base/web.yaml:18"]),
        (overlays(prod="replicas: [{name: web, count: 3}]\n"), "KS301", []),
        (overlays(dev="replicas: [{name: web, count: 2}]\n", prod="namespace: prod\n"), "KS301", ["base/web.yaml:18"]),
        # What one build has is found, though another one differs.
        (overlays(dev="replicas: [{name: web, count: 2}]\n", prod="replicas: [{name: web, count: 3}]\n"),
         "KS301", ["base/web.yaml:18"]),
        # A transformer that is not known may complete the claim, and so may a component that was not read.
        (overlays(), "KS906", ["base/web.yaml:23"]),
        (overlays(prod="transformers: [none.yaml]\n"), "KS906", []),
        (overlays(prod="components: [https://example.com/part]\n"), "KS906", []),
        (overlays(dev=ARM.replace("Deployment", "PersistentVolumeClaim") % "/spec/volumeName"), "KS906", []),
        # A patch directive is for another tool.
        (of("", CLAIM.replace("{resources", "{$patch: merge, resources")), "KS906", []),
        # A patch that is a file of the run has the finding, else the object.
        (patched("nodeSelector: {kubernetes.io/arch: x86_64}"), "KS103", ["p.yaml:4"]),
        (overlays(dev=ARM % f"{SPEC}/nodeName"), "KS119", ["base/web.yaml:9"]),
        (overlays(dev=ARM % f"{SPEC}/nodeName", prod=""), "KS119", ["base/web.yaml:9"]),
        # A Component that nothing lists is completed by kustomizations elsewhere.
        ({"part/kustomization.yaml": f"{COMPONENT}resources: [claim.yaml]\n", "part/claim.yaml": CLAIM}, "KS906", []),
        # Another object has the same finding by a patch without a file.
        (
            of(
                "patches:\n- path: p.yaml\n- {target: {name: other}, patch: '[{op: add, path: /spec/template/spec/"
                "nodeSelector, value: {kubernetes.io/arch: x86_64}}]'}\n",
                WEB + "---\n" + WEB.replace("{name: web}", "{name: other}", 1),
                p=f"{DEPLOYMENT}metadata: {{name: web}}\n"
                "spec: {template: {spec: {nodeSelector: {kubernetes.io/arch: x86_64}}}}\n",
            ),
            "KS103",
            ["p.yaml:4", "web.yaml:23"],
        ),
        # The field of a patch is one of the kind that its target has in the end.
        (
            of(
                "patches:\n- path: p.yaml\n"
                "- {target: {kind: Deployment}, patch: '[{op: replace, path: /kind, value: StatefulSet}]'}\n",
                p=f"{DEPLOYMENT}metadata: {{name: web}}\nspec: {{serviceName: a, other: b}}\n",
            ),
            "KS904",
            ["p.yaml:4"],
        ),
        (of("patches: [{path: p.yaml}]\n", p=f"{DEPLOYMENT}spec: {{a: b}}\n"), "KS904", ["p.yaml:3"]),
        # A patch deletes a field of the kind of its target.
        (of("patches: [{path: p.yaml, target: {kind: S.*}}]\n", p=f"{DEPLOYMENT}spec: {{serviceName: null}}\n"),
         "KS904", []),
        # An object that is deleted, or a kustomization that lists itself.
        (overlays(dev="patches: [{patch: '{$patch: delete, apiVersion: policy/v1, kind: PodDisruptionBudget, "
                  "metadata: {name: web}}'}]\n"), "KS301", []),
        (of("bases: [.]\n", f"{WEB}---\n{BUDGET}"), "KS301", ["web.yaml:18"]),
        # A finding of an item before which a patch removes another one is in the line of the item.
        (of(f"patches: [{{target: {{kind: Deployment}}, patch: '[{{op: remove, path: {SPEC}/containers/0}}]'}}]\n",
            WEB.replace("image: log", "image: log, resources: {requests: {memory: 128m}}")), "KS121", ["web.yaml:12"]),
    ],
)  # fmt: skip
def test_rules_check_what_is_built(files: dict[str, str], rule: str, found: list[str]) -> None:
    assert [f"{each.file.name}:{each.region.line}" for each in lint(files, rule).found] == found


def test_values_that_are_not_known_are_not_decided() -> None:
    target = "{select: {kind: Deployment}, fieldPaths: [spec.replicas]}"
    files = overlays(dev=f"replacements: [{{source: {{kind: ConfigMap, name: none}}, targets: [{target}]}}]\n")
    result = lint(files, "KS301")
    assert [(each.rule, each.object) for each in result.undecided] == [("KS301", "Deployment/web")]
    assert result.undecided[0].why == "spec.replicas is set by a kustomization, to a value that is not known"
    [web] = [obj for obj in result.objects if obj.kind == "Deployment"]
    assert at(web.raw, "spec", "replicas") == UNKNOWN
    assert web.why_untyped == "spec.replicas is set by a kustomization, to a value that is not known"


ZONE_A = ADD % (f"{SPEC}/nodeSelector", "{topology.kubernetes.io/zone: a}")
IN_B = "{key: topology.kubernetes.io/zone, operator: In, values: [b]}"
ZONE_B = ADD % (
    f"{SPEC}/affinity",
    "{nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: ["
    f"{IN_B}]}}]}}}}}}",
)
ARCH = WEB.replace("      containers:", "      nodeSelector: {kubernetes.io/arch: x86_64}\n      containers:")
MEND = ADD % (f"{SPEC}/nodeSelector", "{kubernetes.io/arch: amd64}")
DIFFERENT = ADD % (f"{SPEC}/nodeSelector", "{kubernetes.io/arch: aarch64}")
#: A kustomization that lists other overlays.
LIST = "LIST"
ONCE = "the field is set by dev/kustomization.yaml"


@pytest.mark.parametrize(
    ("web", "kustomizations", "rule", "helps"),
    [
        # No build has both.
        (WEB, {"dev": ZONE_A, "prod": ZONE_B}, "KS101", []),
        # One build has it, all have it, and each has another one.
        (ARCH, {"dev": "", "prod": MEND}, "KS103", ["write amd64; in dev/kustomization.yaml"]),
        (ARCH, {"dev": "namespace: a\n", "prod": "namespace: b\n"}, "KS103", ["write amd64"]),
        (ARCH, {"dev": "", "prod": "replicas: [{name: web, count: 3}]\n", "test": MEND}, "KS103",
         ["write amd64; in dev/kustomization.yaml and prod/kustomization.yaml"]),
        (ARCH, {"dev": "", "prod": DIFFERENT}, "KS103",
         ["write arm64; the field is set by prod/kustomization.yaml; in prod/kustomization.yaml",
          "write amd64; in dev/kustomization.yaml"]),
        # A kustomization that only lists others is not one more build.
        (ARCH, {"dev": "", "prod": MEND, "every": LIST}, "KS103", ["write amd64; in dev/kustomization.yaml"]),
        # Only the kustomization that changes the field is named.
        (ARCH, {"dev": DIFFERENT, "prod": LIST}, "KS103",
         [f"write arm64; {ONCE}"]),
        # The budget is the same in both builds, but the finding is of one.
        (WEB, {"dev": "", "prod": "replicas: [{name: web, count: 3}]\n"}, "KS301", [
            "set maxUnavailable: 1; in dev/kustomization.yaml"]),
    ],
)  # fmt: skip
def test_each_build_is_linted(web: str, kustomizations: dict[str, str], rule: str, helps: list[str] | None) -> None:
    files = overlays(**kustomizations)
    files["base/web.yaml"] = files["base/web.yaml"].replace(WEB, web)
    lists = {
        "every": "resources: [../dev, ../prod]\n",
        "prod": f"resources: [../dev]\n{ADD % ('/spec/paused', 'true')}",
    }
    files |= {f"{name}/kustomization.yaml": lists[name] for name, each in kustomizations.items() if each == LIST}
    assert [each.help for each in lint(files, rule).found] == helps


def test_builds_beyond_the_first_ones_are_not_decided() -> None:
    files = overlays(**{f"o{n}": f"replicas: [{{name: web, count: {n + 1}}}]\n" for n in range(10)})
    result = lint(files, "KS301")
    helps = [f"set maxUnavailable: 1; in o{n}/kustomization.yaml" for n in (0, 1)]
    assert [each.help for each in result.found] == helps
    assert [tuple(each) for each in result.undecided] == [
        ("KS902", "Deployment/web", "more builds differ than the 8 that are checked: o8/kustomization.yaml and "
         "o9/kustomization.yaml")
    ]  # fmt: skip


def test_a_field_that_a_kustomization_sets_has_no_fix_and_names_it() -> None:
    [written] = lint(overlays(dev=""), "KS301").found
    assert written.fix is not None
    patch = "patches: [{target: {kind: Pod.*}, patch: '{spec: {minAvailable: 100%}}'}]\n"
    [set_] = lint(overlays(dev=patch), "KS301").found
    assert set_.fix is None
    assert set_.help.endswith("; the field is set by dev/kustomization.yaml")


def test_a_run_without_the_kustomization_does_not_claim_that_nothing_is_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"claim.yaml": CLAIM, "kustomization.yaml": "resources: [claim.yaml]\n"})
    rules = [rule for rule in RULES if rule.code in ("KS906", "KS908")]
    for paths, code in ((["claim.yaml"], "KS908"), (["."], "KS906")):
        assert [each.rule.code for each in lint_files(read_files(paths).files, LintRequest(rules=rules)).found] == [
            code
        ]


ODD = {
    "nothing": "resources:\nlabels:\npatches:\n",
    "no lists": "resources: {a: web.yaml}\nlabels: {a: b}\nreplicas: 3\ncommonLabels: [a]\npatches: web.yaml\n",
    "empty entries": "patches: [null, {}, {patch: ''}, {target: {kind: D.*}, patch: '1'}]\nlabels: [null, {pairs: 1}]",
    "no pointers": "patches: [{target: {kind: D.*}, patch: '[{op: add, path: a}]'}, {target: {kind: D.*}, patch: [1]}]",
    "no items": f"patches: [{{target: {{kind: D.*}}, patch: '[{{op: remove, path: {SPEC}/containers/7/a}}]'}}]\n",
    "no pattern": "patches: [{target: {kind: '('}, patch: '[]'}, {target: {labelSelector: '=,'}, patch: '[]'}]\n",
    "broken patches": "patches: [{target: {kind: D.*}, patch: 'a: [' }, {path: none.yaml}]\n",
    "no replacements": "replacements: [null, {path: p.yaml}, {targets: [{select: {kind: D.*}, fieldPaths: ['[']}]}]",
    "no mapping": "patches: [{target: {kind: D.*}, patch: '[{op: add, path: /metadata, value: 1}]'}]\n"
    "namespace: a\ncommonLabels: {a: b}\n",
    "itself": "resources: [., ../a]\ncomponents: [., ../a]\n",
}


@pytest.mark.parametrize("name", ODD)
def test_odd_kustomizations_are_read(name: str) -> None:
    for folder in ("a", "."):
        text = ODD[name] if name in ("itself", "no lists", "nothing") else f"resources: [web.yaml]\n{ODD[name]}"
        files = {f"{folder}/kustomization.yaml": text, f"{folder}/web.yaml": f"{WEB}---\n{BUDGET}"}
        assert lint(files, "KS301", "KS906").objects


def test_bases_that_multiply_end() -> None:
    """Each of 15 levels lists the next one in two ways."""
    listed = {
        f"{n}/{side}": f"resources: [../../{n + 1}/a, ../../{n + 1}/b]\nnamePrefix: {side}\n"
        for n in range(15)
        for side in "ab"
    }
    listed |= {"15/a": "resources: [web.yaml]\n", "15/b": "resources: []\n"}
    files = {f"{folder}/kustomization.yaml": text for folder, text in listed.items()}
    assert len(lint({**files, "15/a/web.yaml": WEB}, "KS301").objects) == 1


def test_components_that_list_one_another_end() -> None:
    files = {f"{name}/kustomization.yaml": f"{COMPONENT}components: [../{other}]\n" for name, other in ("ab", "ba")}
    files |= of("components: [a]\nnamespace: shop\n")
    assert [obj.namespace for obj in lint(files).objects if obj.kind == "Deployment"] == ["shop"]
