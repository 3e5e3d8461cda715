"""Topology spread: constraints of every kind, and default constraints that select by services and owners."""

import json

from conformance.generate.chance import MI
from conformance.generate.nodeaffinity import REQUIRED
from conformance.generate.scene import APPS, HOST, REGION, ZONE, Object, Scene


def selector(s: Scene, labels: dict[str, str], hit: float = 0.75) -> Object:
    """Return a label selector that matches the given labels with a probability of about ``hit``."""
    labels = labels or {"app": "web"}
    if s.odds(0.05):
        return {}
    if s.odds(hit):
        keys = s.some(sorted(labels), 1, 2)
        if s.odds(0.7):
            return {"matchLabels": {key: labels[key] for key in keys}}
        return {"matchExpressions": [_expression(s, key, labels[key]) for key in keys]}
    absent = {"key": s.pick("app", "tier", "version"), "operator": "DoesNotExist"}
    unlike = {"key": "app", "operator": "NotIn", "values": [labels.get("app", "web")]}
    choices: tuple[Object, ...] = ({"matchLabels": {"app": s.pick(*APPS)}}, {"matchExpressions": [absent]})
    return s.pick(*choices, {"matchExpressions": [unlike]})


def _expression(s: Scene, key: str, value: str) -> Object:
    found: Object = {"key": key, "operator": s.pick("In", "In", "Exists", "NotIn")}
    if found["operator"] == "In":
        found["values"] = [value, *s.pick([], ["other"])]
    elif found["operator"] == "NotIn":
        found["values"] = ["zzz"]
    return found


def add_label_keys(s: Scene, term: Object, labels: dict[str, str], field: str, keys: list[str], merged: float) -> None:
    """Set label keys in a term, with probability ``merged`` also merged into its selector as an API server does."""
    term[field] = keys
    if s.odds(merged):
        operator = "NotIn" if field == "mismatchLabelKeys" else "In"
        expressions = term["labelSelector"].setdefault("matchExpressions", [])
        expressions += [{"key": key, "operator": operator, "values": [labels[key]]} for key in keys if key in labels]


def free_keys(term: Object, keys: tuple[str, ...]) -> list[str]:
    """Return the label keys that a term's selector does not use."""
    used = json.dumps(term.get("labelSelector"))
    return [key for key in keys if f'"{key}"' not in used]


def _constraint(s: Scene, key: str, labels: dict[str, str], hard: bool) -> Object:
    found: Object = {
        "maxSkew": s.weighted((5, 1), (2, 2), (1, 5)),
        "topologyKey": "nokey" if s.odds(0.05) else key,
        "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
    }
    if s.odds(0.96):
        found["labelSelector"] = selector(s, labels)
    if hard and s.odds(0.3):
        found["minDomains"] = s.between(1, 6)
    keys = free_keys(found, ("pod-template-hash", "version"))
    if keys and "labelSelector" in found and s.odds(0.2):
        add_label_keys(s, found, labels, "matchLabelKeys", s.some(keys, 1, 2), 0.5)
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if s.odds(0.25):
            found[policy] = s.pick("Honor", "Ignore")
    return found


def spread(s: Scene) -> None:
    """Spread pods of one workload over zones, hosts and racks; the pod to schedule is one more of the workload."""
    labels = s.pod["metadata"].setdefault("labels", {})
    labels.setdefault("app", "web")
    labels["pod-template-hash"] = s.pick("aaa", "bbb")
    racks = s.odds(0.5)
    for node in s.nodes:
        if racks and s.odds(0.9):
            node["metadata"]["labels"]["rack"] = s.pick("k1", "k2", "k3")
        if s.odds(0.25):
            node["metadata"]["labels"]["disk"] = s.pick("ssd", "hdd")
    _workload(s, labels)
    keys = [ZONE, HOST, "rack" if racks else REGION]
    by_default = s.odds(0.22)
    constraints: list[Object] = []
    hard = 0.3 if s.gentle else s.weighted((3, 0.8), (2, 0.5), (2, 0.0))
    if not by_default or s.odds(0.15):
        constraints = [_constraint(s, key, labels, s.odds(hard)) for key in s.some(keys, 1, 3)]
        pairs = {(found["topologyKey"], found["whenUnsatisfiable"]): found for found in constraints}
        s.pod["spec"]["topologySpreadConstraints"] = list(pairs.values())
    _narrow(s)
    if by_default or s.odds(0.08):
        owners(s, labels)
        if s.odds(0.6):
            _default_constraints(s, keys)
    if s.odds(0.1):  # Filter counts a nominated pod on its node
        held = {"app": labels["app"], "pod-template-hash": "aaa"}
        pod = s.add_pod("nominated", s.pod["metadata"]["namespace"], held, priority=s.pick(0, 100))
        pod["status"]["nominatedNodeName"] = s.any_node()


def _workload(s: Scene, labels: dict[str, str]) -> None:
    many = s.weighted((3, 2), (2, 5), (1, 1))
    for node in s.nodes:
        for _ in range(s.between(0, many + 1)):
            own = {"app": labels["app"] if s.odds(0.7) else s.pick(*APPS), "pod-template-hash": s.pick("aaa", "bbb")}
            if s.odds(0.5):
                own["tier"] = s.pick("front", "back")
            namespace = s.pod["metadata"]["namespace"] if s.odds(0.85) else "team-a"
            pod = s.add_pod("spreader", namespace, own, node=node["metadata"]["name"], cpu=50, memory=32 * MI)
            if s.odds(0.07):
                s.terminate(pod)
            elif s.odds(0.05):
                s.finish(pod)


def _narrow(s: Scene) -> None:
    """Add taints and node affinity, which the inclusion policies of a constraint refer to."""
    spec = s.pod["spec"]
    if s.odds(0.3):
        s.taint_some(effect=s.pick("NoSchedule", "PreferNoSchedule", "NoExecute"))
        if s.odds(0.3):
            spec.setdefault("tolerations", []).append({"key": "dedicated", "operator": "Exists"})
    if s.odds(0.12):
        spec["nodeSelector"] = {"disk": s.pick("ssd", "hdd")}
    elif s.odds(0.12):
        expression = {"key": s.pick("disk", ZONE), "operator": s.pick("Exists", "DoesNotExist")}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
        spec.setdefault("affinity", {})["nodeAffinity"] = {REQUIRED: terms}


def _default_constraints(s: Scene, keys: list[str]) -> None:
    constraints = [
        {
            "maxSkew": s.pick(1, 1, 2, 4),
            "topologyKey": key,
            "whenUnsatisfiable": s.pick("DoNotSchedule", "ScheduleAnyway"),
        }
        for key in s.some(keys, 1, 2)
    ]
    s.plugin_args("PodTopologySpread", defaultConstraints=constraints if s.odds(0.9) else [], defaultingType="List")


def owners(s: Scene, labels: dict[str, str]) -> None:
    """Add services and owners that select the pod, from which the default constraints take their selector."""
    namespace = s.pod["metadata"]["namespace"]
    kind = s.weighted((4, "svc"), (3, "rs"), (2, "ss"), (2, "both"), (1, "rc"), (1, "none"), (1, "elsewhere"))
    select = {"app": labels["app"]}
    if kind in ("svc", "both", "elsewhere"):
        _service(s, "svc", "team-a" if kind == "elsewhere" else namespace, selector=select)
        if s.odds(0.3):
            _service(s, "svc2", namespace, selector={"pod-template-hash": labels["pod-template-hash"]})
        if s.odds(0.2):
            _service(s, "headless", namespace, clusterIP="None")
    owner = {"rs": ("apps/v1", "ReplicaSet"), "ss": ("apps/v1", "StatefulSet"), "rc": ("v1", "ReplicationController")}
    api_version, name = owner.get("rs" if kind == "both" else kind, ("", ""))
    if not name:
        return
    expression = {"key": "app", "operator": "In", "values": [labels["app"]]}
    wanted: Object = s.weighted((7, {"matchLabels": select}), (3, {"matchExpressions": [expression]}))
    template = {"metadata": {"labels": dict(labels)}, "spec": {"containers": [s.container()]}}
    spec: Object = {"replicas": 3, "selector": select if kind == "rc" else wanted, "template": template}
    if kind == "ss":
        spec["serviceName"] = "svc"
    found = s.add(api_version, name, s.meta("owner", namespace), spec=spec, status={"replicas": 1})
    if s.odds(0.9):
        reference = {"apiVersion": api_version, "kind": name, "name": "owner", "uid": found["metadata"]["uid"]}
        s.pod["metadata"]["ownerReferences"] = [{**reference, "controller": True, "blockOwnerDeletion": True}]


def _service(s: Scene, name: str, namespace: str, **fields: object) -> None:
    spec = {"ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}], "type": "ClusterIP", **fields}
    s.add("v1", "Service", s.meta(name, namespace), spec=spec, status={"loadBalancer": {}})
