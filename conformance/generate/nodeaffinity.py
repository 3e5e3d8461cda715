"""Node affinity: selectors, required and preferred terms, node names, and the configured ``addedAffinity``."""

from conformance.generate.scene import HOST, ZONE, Object, Scene

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def field(name: str, operator: str = "In") -> Object:
    """Return a requirement on a node's name."""
    return {"key": "metadata.name", "operator": operator, "values": [name]}


def _expression(s: Scene, *, preferred: bool) -> Object:
    values = {
        "disk": ["ssd", "hdd", "nvme"],
        "gen": ["1", "2", "3", "7"],
        ZONE: ["z1", "z2", "z3"],
        "gpu-model": ["a100", "t4"],
        "nolabel": ["x"],
        "kubernetes.io/arch": ["amd64", "arm64"],
        HOST: s.node_names(),
    }
    key = s.weighted(*zip((3, 3, 2, 2, 1, 1, 1), values, strict=True))
    compares = ["Gt", "Lt", "Gt", "Lt"] if key in ("gen", "disk") else []
    operator = s.pick("In", "In", "NotIn", "Exists", "DoesNotExist", *compares)
    found: Object = {"key": key, "operator": operator}
    if operator in ("In", "NotIn"):
        found["values"] = s.some(values[key], 1, 3)
    elif compares and operator in ("Gt", "Lt"):
        # The API server does not validate the values of preferred terms: it accepts one that no label can have.
        found["values"] = ["-3"] if preferred and s.odds(0.02) else [s.pick("0", "1", "2", "5", "7")]
    return found


def _term(s: Scene, *, preferred: bool = False, empty: float = 0.05) -> Object:
    if s.odds(empty):
        return {}
    found: Object = {}
    if s.odds(0.85):
        n = s.weighted((5, 1), (3, 2), (1, 3))
        found["matchExpressions"] = [_expression(s, preferred=preferred) for _ in range(n)]
    if not found or s.odds(0.1):
        names = [s.any_node() if s.odds(0.9) else "no-such-node" for _ in range(2 if s.odds(0.15) else 1)]
        found["matchFields"] = [field(name, s.weighted((4, "In"), (1, "NotIn"))) for name in names]
    return found


def _preferred(s: Scene, most: int = 4, empty: float = 0.05) -> list[Object]:
    weights = (1, 1, 5, 10, 50, 100)
    n = s.between(1, most)
    return [{"weight": s.pick(*weights), "preference": _term(s, preferred=True, empty=empty)} for _ in range(n)]


def _by_name(s: Scene) -> list[Object]:
    """Return terms with node names, which PreFilter uses to restrict the nodes."""
    names = s.node_names()
    kind = s.weighted((3, "one"), (2, "several"), (2, "conflict"), (1, "gone"), (1, "label too"), (1, "partly"))
    if kind == "several":
        return [{"matchFields": [field(name)]} for name in s.some(names, 1, 4)]
    if kind == "conflict":
        two = s.some(names, 2, 2) if len(names) > 1 else [names[0], "other"]
        return [{"matchFields": [field(name) for name in two]}]
    if kind == "gone":
        return [{"matchFields": [field("no-such-node")]}]
    terms: list[Object] = [{"matchFields": [field(s.any_node())]}]
    if kind == "label too":
        terms[0]["matchExpressions"] = [_expression(s, preferred=False)]
    elif kind == "partly":
        terms.append({"matchExpressions": [_expression(s, preferred=False)]})
    return terms


def nodeaffinity(s: Scene) -> None:
    """Add labels to the nodes, and let the pod select some of them."""
    for node in s.nodes:
        labels = node["metadata"]["labels"]
        if s.odds(0.8):
            labels["disk"] = s.pick("ssd", "hdd", "nvme")
        if s.odds(0.8):
            numbers = (
                (2, "1"),
                (2, "2"),
                (2, "3"),
                (1, "7"),
                (1, "10"),
                (1, "abc"),
                (1, "0"),
                (0.3, "-1"),
                (0.3, "01"),
            )
            labels["gen"] = s.weighted(*numbers)
        if s.odds(0.3):
            labels["gpu-model"] = s.pick("a100", "t4")
    spec = s.pod["spec"]
    how = s.weighted((2, "selector"), (4, "required"), (2, "both"), (4, "preferred"), (2, "names"))
    if s.gentle:
        how = s.weighted((1, "required"), (6, "preferred"), (0.5, "names"), (0.5, "selector"))
    if how in ("selector", "both"):
        choices = {"disk": ["ssd", "hdd"], "gen": ["1", "2"], ZONE: ["z1", "z2"], "kubernetes.io/os": ["linux"]}
        spec["nodeSelector"] = {key: s.pick(*choices[key]) for key in s.some(choices, 1, 2)}
    affinity: Object = {}
    if how in ("required", "both"):
        affinity[REQUIRED] = {"nodeSelectorTerms": [_term(s) for _ in range(s.weighted((4, 1), (3, 2), (1, 3)))]}
    elif how == "names":
        affinity[REQUIRED] = {"nodeSelectorTerms": _by_name(s)}
        if s.odds(0.3):  # the named nodes may be rejected for another reason
            s.taint_some()
    if how == "preferred" or s.odds(0.5):
        affinity[PREFERRED] = _preferred(s)
    if affinity:
        spec.setdefault("affinity", {})["nodeAffinity"] = affinity
    if s.odds(0.03 if s.gentle else 0.12):
        added: Object = {}
        if s.odds(0.7):
            added[REQUIRED] = {"nodeSelectorTerms": [_term(s, empty=0) for _ in range(s.between(1, 2))]}
        if not added or s.odds(0.5):
            added[PREFERRED] = _preferred(s, 1, empty=0)
        s.plugin_args("NodeAffinity", addedAffinity=added)
    if not s.gentle and s.odds(0.05):
        spec["nodeName"] = s.any_node() if s.odds(0.6) else "no-such-node"
