"""Inter-pod affinity: required and preferred, of the pod and of existing pods, over topologies and namespaces."""

from conformance.generate.chance import MI
from conformance.generate.nodeaffinity import PREFERRED, REQUIRED
from conformance.generate.scene import HOST, NAMESPACES, REGION, ZONE, Object, Scene
from conformance.generate.spread import add_label_keys, free_keys, selector


def _term(s: Scene, labels: dict[str, str]) -> Object:
    """Return an affinity term whose selector usually matches the labels."""
    found: Object = {"topologyKey": s.weighted((4, ZONE), (4, HOST), (1, REGION), (1, "nokey"))}
    if s.odds(0.95):
        found["labelSelector"] = selector(s, labels, 0.8)
    reach = s.weighted((6, "own"), (2, "list"), (1, "selector"), (1, "all"), (1, "both"))
    if reach in ("list", "both"):
        found["namespaces"] = s.some(NAMESPACES, 1, 2)
    if reach in ("selector", "both"):
        by_label: list[Object] = [{"matchLabels": {"team": "a"}}, {"matchLabels": {"env": "prod"}}]
        exists = {"matchExpressions": [{"key": "env", "operator": "Exists"}]}
        found["namespaceSelector"] = s.pick(*by_label, exists, {"matchLabels": {"team": "none"}})
    elif reach == "all":
        found["namespaceSelector"] = {}
    keys = [key for key in free_keys(found, ("version", "pod-template-hash")) if key in labels]
    if keys and "labelSelector" in found and s.odds(0.15):
        add_label_keys(s, found, labels, s.pick("matchLabelKeys", "mismatchLabelKeys"), keys[:1], 0.6)
    return found


def _weighted_term(s: Scene, labels: dict[str, str]) -> Object:
    return {"weight": s.pick(1, 5, 10, 50, 100), "podAffinityTerm": _term(s, labels)}


def affinity(s: Scene, labels: dict[str, str], required: float, preferred: float) -> Object:
    """Return affinity or anti-affinity or both, to pods that match the labels."""
    found: Object = {}
    for _ in range(s.between(1, 2)):
        where = found.setdefault(s.pick("podAntiAffinity", "podAffinity"), {})
        if s.odds(required):
            where.setdefault(REQUIRED, []).append(_term(s, labels))
        if s.odds(preferred) or not where:
            where.setdefault(PREFERRED, []).append(_weighted_term(s, labels))
    return found


def anti(key: str, labels: dict[str, str]) -> Object:
    """Return required anti-affinity to pods with these labels."""
    return {"podAntiAffinity": {REQUIRED: [{"topologyKey": key, "labelSelector": {"matchLabels": labels}}]}}


def interpod(s: Scene) -> None:
    """Add pods, some with affinities, and usually affinities of the pod to schedule."""
    mine = s.pod["metadata"].setdefault("labels", {})
    mine.setdefault("app", "web")
    for node in s.nodes:
        for _ in range(s.weighted((3, 0), (3, 1), (1, 3))):
            namespace = s.weighted((4, s.pod["metadata"]["namespace"]), (1, "prod"), (1, "team-a"))
            pod = s.add_pod("peer", namespace, s.labels(), node=node["metadata"]["name"], cpu=50, memory=32 * MI)
            if s.odds(0.05):
                s.terminate(pod)
    share = s.weighted((3, 0.0), (3, 0.15), (2, 0.5))
    for pod in s.pods:
        if s.odds(share):
            aim = mine if s.odds(0.7) else pod["metadata"].get("labels", {})
            pod["spec"]["affinity"] = affinity(s, aim, 0.15 if s.gentle else 0.5, 0.6)
    found = _own(s, mine)
    if found:
        s.pod["spec"].setdefault("affinity", {}).update(found)
    if s.odds(0.15):
        args: Object = {"hardPodAffinityWeight": s.pick(0, 1, 10, 100)}
        if s.odds(0.5):
            args["ignorePreferredTermsOfExistingPods"] = s.odds(0.7)
        s.plugin_args("InterPodAffinity", **args)


def _own(s: Scene, mine: dict[str, str]) -> Object:
    """Return the affinity of the pod to schedule; empty for none."""
    choices = ((3, "affinity"), (3, "anti"), (3, "mixed"), (3, "preferred"), (2, "series"), (1, "none"))
    how = s.weighted(*choices)
    if s.gentle:
        how = s.weighted((1, "anti"), (1, "mixed"), (3, "preferred"), (1, "series"))
    around = [pod["metadata"].get("labels", {}) for pod in s.pods] or [{"app": "web"}]
    aim = s.pick(*around) if s.odds(0.7) else mine
    if how in ("affinity", "anti"):
        terms = [_term(s, aim) for _ in range(s.weighted((3, 1), (2, 2)))]
        return {"podAffinity" if how == "affinity" else "podAntiAffinity": {REQUIRED: terms}}
    if how == "mixed":
        return affinity(s, aim, 0.6, 0.6)
    if how == "preferred":
        return affinity(s, aim, 0.0, 1.0)
    return _series(s, mine) if how == "series" else {}


def _series(s: Scene, mine: dict[str, str]) -> Object:
    """Return affinity to the pod's own series, which often no other pod matches yet."""
    mine["series"] = "s1"
    term: Object = {"topologyKey": s.pick(ZONE, HOST, "nokey"), "labelSelector": {"matchLabels": {"series": "s1"}}}
    if s.odds(0.3):
        term["namespaces"] = [s.pick(*NAMESPACES)]
    terms = [term]
    if s.odds(0.3):
        terms.append({"topologyKey": ZONE, "labelSelector": {"matchLabels": {"series": s.pick("s1", "s2")}}})
    if s.odds(0.3):
        s.add_pod("first", s.pick("default", "prod"), {"series": "s1"}, node=s.any_node())
    return {"podAffinity": {REQUIRED: terms}}
