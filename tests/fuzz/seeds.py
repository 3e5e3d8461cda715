"""The fuzzers' start inputs: small valid inputs of every kind that kschedctl reads."""

import gzip
import io
import json
import tarfile
import zipfile

NODE = (
    "apiVersion: v1\nkind: Node\nmetadata: {name: node-1, labels: &l {zone: a, size: '9'}}\n"
    "spec:\n  taints:\n  - {key: gpu, effect: NoSchedule}\n"
    "status:\n  allocatable: {cpu: 4, memory: 16Gi, pods: '110', ephemeral-storage: 1e3}\n"
)
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: shop, creationTimestamp: "2026-01-31T12:00:00Z"}
spec:
  containers:
  - &c
    name: web
    image: "registry.example.com/web:1.2"
    resources: {requests: {cpu: 500m, memory: 1.5Gi}}
    ports: [{containerPort: 80, hostPort: 0x50}]
  - <<: *c
    name: side
  nodeSelector: {size: '9'}
  tolerations: [{operator: Exists}]
  affinity:
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: zone, labelSelector: {matchExpressions: [{key: app, operator: In, values: [web]}]}}
"""
OBJECTS = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "2"}}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"nodeName": "n"}},
    {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "provisioner": "csi.example.com",
    },
]
LIST = json.dumps({"kind": "List", "apiVersion": "v1", "items": OBJECTS})
TYPED = json.dumps({"kind": "NodeList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}}] * 3}, indent=1)
LINES = "".join(json.dumps(obj) + "\n" for obj in OBJECTS)
EXPORT = json.dumps({"nodes": [{"metadata": {"name": "a"}}], "pods": [], "schedulerConfig": {}})
HEADER = json.dumps({"kschedctlVersion": "1", "kinds": {"Node": 1}, "notListed": {}, "capturedAt": None})
#: Block YAML as programs write it, with every form of continued line.
BLOCK = """\
apiVersion: v1
items:
- apiVersion: v1
  kind: Pod
  metadata:
    annotations:
      text: |
        a: b

         - c
      folded: one two
        three
      quoted: 'it''s: #
        so'
      empty: {}
    labels:
      on: "yes"
      version: 1.0
    name: web-0
  spec:
    containers:
    - args:
      - --port=80
      - - nested
      env: []
      name: c
      image: i
    nodeName: # nowhere
    priority: -10
- kind: Node
kind: List
---
- a: &x 1
  b: *x
"""
CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    score: {disabled: [{name: ImageLocality}], enabled: [{name: NodeResourcesFit, weight: 3}]}
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
"""
CASE = json.dumps({"id": "a", "objects": OBJECTS, "pod": {"metadata": {"name": "new"}, "spec": {}}})

TEXTS = [text.encode() for text in (NODE, POD, f"{NODE}---\n{POD}", LIST, TYPED, LINES, EXPORT, HEADER, LIST * 2)]


def archives() -> list[bytes]:
    """Return the texts in every kind of archive."""
    files = {f"{i}.{'json' if text[:1] == b'{' else 'yaml'}": text for i, text in enumerate(TEXTS)}
    found = [gzip.compress(text, mtime=0) for text in TEXTS[:4]]
    for format_ in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w", format=format_) as archive:
            for name, text in files.items():
                member = tarfile.TarInfo(name if name != "3.json" else f"{'long/' * 60}{name}")
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text))
        found += [stream.getvalue(), gzip.compress(stream.getvalue(), mtime=0)]
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", method) as zipped:
            for name, text in files.items():
                zipped.writestr(zipfile.ZipInfo(name), text, method)
        found.append(stream.getvalue())
    return found


PLAN = """\
apiVersion: kschedctl/v1
kind: Sweep
base: {snapshot: cluster.yaml, featureGates: {OpportunisticBatching: true}, whatIf: {cordon: [node-1]}}
axes:
  size: {of: set-request, value: "cpu={}", values: [null, 500m, [1, 2]]}
  taint: &t ["node-1:gpu-", "node-1:a=b:NoSchedule"]
  again: {of: taint, values: *t}
  seed: {values: {from: 1, to: 9, step: 0x2}}
  weight.NodeResourcesFit: [0, 5]
  args.NodeResourcesFit.scoringStrategy.type: [MostAllocated]
combine: {random: 5, seed: 3}
measure: [placed, utilisation.cpu.max, skew.zone]
goals: {placed: maximise, utilisation.cpu: minimise}
"""

BASELINE = (
    '{"rule": "KS119", "kind": "Pod", "namespace": "", "name": "web", "field": "spec", "message": "m", "count": 2}\n'
)
#: Manifests with findings and repairs, as YAML and as JSON.
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "annotations": {"ignore.kschedctl.io/KS105": "known"}},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}, "annotations": {"karpenter.sh/do-not-evict": "true"}},
            "spec": {
                "nodeSelector": {"beta.kubernetes.io/os": "linux"},
                "schedulingGates": [{"name": "x"}],
                "containers": [{"name": "web", "image": "nginx", "resources": {"requests": {"memory": "128m"}}}],
            },
        },
    },
}
LINTED = (
    json.dumps(DEPLOYMENT),
    "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}  # web\nspec:\n"
    "  selector: {matchLabels: {app: web}}\n"
    "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata:\n  name: web\nspec:\n  maxReplicas: 3\n"
    "  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n"
    f"---\n{json.dumps(DEPLOYMENT)}\n",
)
TOML = """\
[tool.kschedctl.lint]
select = ["KS1", "KS2"]
severity = {KS119 = "error"}
per-path = {"a/*" = ["KS119"]}
baseline = "base.jsonl"
[[tool.kschedctl.lint.ignores]]
rules = "KS119"
reason = "known"
until = 2030-01-31
"""
#: Responses of extenders, and addresses of redirects.
RESPONSES = (
    '{"Nodes": {"items": [{"metadata": {"name": "a"}, "status": {"allocatable": {"cpu": 4, "memory": "1Gi"}}}]}}',
    '{"NodeNames": ["a", "b"], "FailedNodes": {"c": "full"}, "Error": ""}',
    '[{"Host": "a", "Score": 7}]',
    '{"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "u"}], "NumPDBViolations": 1}}}',
    "https://user@[fe80::1%25eth0]:8080/there?a=b#c",
    "//xn--bcher-kva.example:443/x",
)
#: Options of ``leader simulate``, each with its value.
ELECTION_OPTIONS = (
    "duration 2m30s",
    "crash 20s-35s=leader",
    "partition 1.5h-1000000h=all",
    "slow-api 3s@30s-50s=2",
    "upgrade 60s",
    "clock-skew 2s",
    "clock-drift 5%",
    "fail-over 20s",
    "lease-duration 15s",
    "retry-period 100ms",
)
_POD = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}'
#: Layouts in which objects were left out in silence.
LAYOUTS = (
    f'{{"apiVersion": "v1", "kind": "PodList", "Items": [{_POD}]}}',
    f'{{"apiVersion": "v1", "kind": "List", "items": {{"a": {_POD}}}}}',
    f'{{"type": "ADDED", "object": {_POD}}}\n' * 2,
    '{"apiVersion": "meta.k8s.io/v1", "kind": "Table", "rows": [{"cells": ["p"]}]}',
    '{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 403}',
    '{"serverVersion": {"gitVersion": "v1.36.1"}}',
    f"# Pods\n\n```json\n{_POD}\n```\n",
    "YXBpVmVyc2lvbjogdjEKa2luZDogUG9kCm1ldGFkYXRhOiB7bmFtZTogYmlnfQo=\n",
    json.dumps(_POD),
    EXPORT,
)
