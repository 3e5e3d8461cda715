"""Taints: keys, values and effects on nodes, and tolerations that almost match them."""

from conformance.generate.scene import Object, Scene

_KEYS = ("dedicated", "gpu", "example.com/maintenance", "spot")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_CONDITIONS = ("not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure", "network-unavailable")


def taints(s: Scene) -> None:
    """Add taints of a few kinds to the nodes, and tolerations derived from them to the pod."""
    keys = s.some(_KEYS, 1, 3)
    effects = s.weighted((3, _EFFECTS), (2, _EFFECTS[1:2]), (2, _EFFECTS[:1]), (1, _EFFECTS[2:]), (2, _EFFECTS[:2]))
    density = 0.3 if s.gentle else s.weighted((2, 0.3), (3, 0.7), (2, 1.0))
    seen: list[Object] = []
    for node in s.nodes:
        found = []
        if s.odds(density):
            found = [_taint(s, key, effect) for key in s.some(keys, 1, 3) for effect in s.some(effects, 1, 2)]
        if s.odds(0.03 if s.gentle else 0.08):
            effect = s.pick("NoSchedule", "NoExecute")
            found.append({"key": f"node.kubernetes.io/{s.pick(*_CONDITIONS)}", "effect": effect})
        if s.odds(0.04 if s.gentle else 0.15):
            how = s.weighted((3, "both"), (2, "field"), (1, "taint"))
            if how != "taint":
                node["spec"]["unschedulable"] = True
            if how != "field":
                cordon = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": s.time()}
                found.append(cordon)
        s.random.shuffle(found)
        if found:
            node["spec"]["taints"] = found
        seen += found
    tolerations = [] if s.odds(0.1) else s.pod["spec"]["tolerations"]
    tolerations += [toleration(s, seen) for _ in range(s.weighted((2, 0), (3, 1), (3, 2), (2, 4)))]
    if s.odds(0.15):
        cordon = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
        tolerations.append(cordon | ({"effect": "NoSchedule"} if s.odds(0.7) else {}))
    s.pod["spec"]["tolerations"] = tolerations
    if not tolerations:
        del s.pod["spec"]["tolerations"]


def _taint(s: Scene, key: str, effect: str) -> Object:
    taint = {"key": key, "effect": effect}
    if value := s.pick("", "true", "infra"):
        taint["value"] = value
    if effect == "NoExecute":
        taint["timeAdded"] = s.time()
    return taint


def toleration(s: Scene, seen: list[Object]) -> Object:
    """Return a toleration that is derived from one of the seen taints, and usually matches it."""
    stranger = {"key": s.pick(*_KEYS), "value": "true", "effect": "NoSchedule"}
    taint = s.pick(*seen) if seen and s.odds(0.8) else stranger
    found: Object = {}
    if s.odds(0.1):
        found["operator"] = "Exists"  # any key
    elif s.odds(0.5):
        found |= {"key": taint["key"], "operator": "Exists"}
    else:
        found |= {"key": taint["key"], "operator": "Equal"}
        if value := taint.get("value", "") if s.odds(0.8) else "other":
            found["value"] = value
        if s.odds(0.1):
            del found["operator"]  # the default is Equal
    if s.odds(0.7):
        found["effect"] = taint["effect"] if s.odds(0.8) else s.pick(*_EFFECTS)
    if found.get("effect") == "NoExecute" and s.odds(0.5):
        found["tolerationSeconds"] = s.pick(0, 60, 300)
    return found
