"""The question as an integer program: how many pods of each kind go to each site, and who leaves.

What a solution must keep is what any order of placing implies for the end: resources, ports and anti-affinity are exact
in that; of affinity and spread constraints it is what must hold once all are placed. Where that is not enough, the real
filters say so afterwards, and the solution is excluded (``cuts``). Over sites of several nodes the program is a
relaxation: its best is a bound.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from kschedctl.cluster.labels import LabelColumn
from kschedctl.optimum.question import Occupants
from kschedctl.optimum.sites import Ground, Site, is_inner
from kschedctl.optimum.solver import new_model
from kschedctl.plugins.inter_pod_affinity.filtering import KeyCounts
from kschedctl.plugins.pod_topology_spread.filtering import DomainCounts

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import IntVar, LinearExpr

    Linear: TypeAlias = LinearExpr | int

#: The domain of a site whose nodes are domains of their own.
_INNER: Final = -2


class Model:
    """The program over some sites.

    Parameters
    ----------
    ground : Ground
        What nodes offer.
    sites : sequence of Site
        Where pods may be placed; nodes that are not among them take none.
    for_preemptors : bool
        Whether pods leave only a node that a pod of higher priority goes to which may evict them.

    Attributes
    ----------
    cp : CpModel
        The program.
    placed : dict of (int, int) to IntVar
        How many pods of a kind go to a site, where any may.
    leaving : list of IntVar or None
        How many of the occupants leave; ``None`` where none can.
    """

    def __init__(self, ground: Ground, sites: Sequence[Site], *, for_preemptors: bool = True) -> None:
        self.ground = ground
        self.question = ground.question
        self.sites = tuple(sites)
        self.cp = new_model()
        self.placed: dict[tuple[int, int], IntVar] = {}
        self.leaving: list[IntVar | None] = []
        self.site_of_row = {row: number for number, site in enumerate(self.sites) for row in site.rows}
        self._on_row: dict[int, list[int]] = defaultdict(list)
        for number, occupants in enumerate(self.question.occupants):
            self._on_row[occupants.row].append(number)
        self._codes: dict[str, list[int]] = {}
        self._domains: dict[str, dict[int, list[int]]] = {}
        self._presence: dict[tuple[int, str, int], IntVar] = {}
        self._leave(for_preemptors=for_preemptors)
        self._place()
        if for_preemptors:
            self._only_for_preemptors()
        self._resources()
        self._ports()
        self._anti_affinity()
        self._affinity()
        self._spread()

    # Who leaves, and who is placed.

    def _leave(self, *, for_preemptors: bool) -> None:
        for number, occupants in enumerate(self.question.occupants):
            can = not for_preemptors or occupants.row in self.site_of_row
            variable = self.cp.new_int_var(0, len(occupants.pods), f"leave{number}") if can else None
            self.leaving.append(variable)

    def staying(self, number: int) -> Linear:
        """How many of the occupants stay."""
        total = len(self.question.occupants[number].pods)
        variable = self.leaving[number]
        return total if variable is None else total - variable

    def _place(self) -> None:
        supply: dict[int, list[Linear]] = defaultdict(list)
        most_again: dict[int, int] = defaultdict(int)
        for number, occupants in enumerate(self.question.occupants):
            variable = self.leaving[number]
            if occupants.kind >= 0 and variable is not None:
                supply[occupants.kind].append(variable)
                most_again[occupants.kind] += len(occupants.pods)
        for k, kind in enumerate(self.question.kinds):
            total = len(kind.pods) + most_again[k]
            most = self.ground.most[k]
            for s, site in enumerate(self.sites):
                bound = min(total, int(most[site.row]) * site.n_nodes)
                if bound > 0:
                    self.placed[k, s] = self.cp.new_int_var(0, bound, f"x{k},{s}")
            own = self.of_kind(k)
            if own:
                self.cp.add(sum(own) <= len(kind.pods) + sum(supply[k]))

    def of_kind(self, k: int) -> list[IntVar]:
        """How many pods of a kind go to each site."""
        return [self.placed[k, s] for s in range(len(self.sites)) if (k, s) in self.placed]

    def at_site(self, s: int) -> list[tuple[int, IntVar]]:
        """The kinds that may go to a site, each with how many do."""
        return [(k, self.placed[k, s]) for k in range(len(self.question.kinds)) if (k, s) in self.placed]

    def _only_for_preemptors(self) -> None:
        for number, occupants in enumerate(self.question.occupants):
            variable = self.leaving[number]
            if variable is None:
                continue
            kinds = self.question.kinds
            here = self.at_site(self.site_of_row[occupants.row])
            takers = [x for k, x in here if kinds[k].preempts and kinds[k].priority > occupants.priority]
            self.cp.add(variable <= len(occupants.pods) * sum(takers))

    def _resources(self) -> None:
        for s, site in enumerate(self.sites):
            here = self.at_site(s)
            remaining = self._on_row.get(site.row, ())
            for name, free in self.ground.free.items():
                amounts = [(self.question.kinds[k].sifted.wanted.get(name, 0), x) for k, x in here]
                asked = [(amount, x) for amount, x in amounts if amount > 0]
                if not asked or not self.ground.offered[name][site.row]:
                    # Where it is not offered, devices stand for it: the filters have the last word.
                    continue
                room = int(free[site.row]) * site.n_nodes
                occupied = [(self.ground.usage(self.question.occupants[o].class_id, name), o) for o in remaining]
                held = sum(amount * len(self.question.occupants[o].pods) for amount, o in occupied)
                kept = sum(amount * self.staying(o) for amount, o in occupied if amount)
                rule = self.cp.add(sum(amount * x for amount, x in asked) + kept <= room)
                if held > room:
                    # More is used than there is, which is nobody's matter who asks for none of it.
                    any_asks = self.cp.new_bool_var("")
                    rule.only_enforce_if(any_asks)
                    for _, x in asked:
                        self.cp.add(x == 0).only_enforce_if(~any_asks)

    def _ports(self) -> None:
        kinds = self.question.kinds
        with_ports = [k for k, kind in enumerate(kinds) if kind.sifted.ports]
        for i, k in enumerate(with_ports):
            rivals = [r for r in with_ports[i + 1 :] if _conflict(kinds[k].sifted.ports, kinds[r].sifted.ports)]
            for s, site in enumerate(self.sites):
                for r in rivals:
                    if (k, s) in self.placed and (r, s) in self.placed:
                        self.cp.add(self.placed[k, s] + self.placed[r, s] <= site.n_nodes)
        if not with_ports:
            return
        for number, occupants in enumerate(self.question.occupants):
            used = _ports_of(self.question.cluster.pods.classes[occupants.class_id].pod)
            site_number = self.site_of_row.get(occupants.row)
            for k in with_ports if used else ():
                if site_number is not None and _conflict(kinds[k].sifted.ports, used):
                    self._requires_leaving(self.placed.get((k, site_number)), number)

    def _requires_leaving(self, some: IntVar | None, number: int) -> None:
        """Where some pod is placed (a variable of at most 1) all of the occupants leave."""
        if some is None:
            return
        variable = self.leaving[number]
        if variable is None:
            self.cp.add(some == 0)
        else:
            self.cp.add(variable >= len(self.question.occupants[number].pods) * some)

    # Domains.

    def codes(self, key: str, column: LabelColumn) -> list[int]:
        """The domain of every site; -1 without the label, -2 where its nodes are domains of their own."""
        found = self._codes.get(key)
        if found is None:
            inner = is_inner(column)
            found = [
                _INNER if inner and site.n_nodes > 1 and column.codes[site.row] >= 0 else int(column.codes[site.row])
                for site in self.sites
            ]
            self._codes[key] = found
            domains: dict[int, list[int]] = defaultdict(list)
            for s, code in enumerate(found):
                domains[code].append(s)
            self._domains[key] = domains
        return found

    def _in_domain(self, key: str, code: int, k: int) -> list[IntVar]:
        return [self.placed[k, s] for s in self._domains[key].get(code, ()) if (k, s) in self.placed]

    def presence(self, k: int, key: str, code: int) -> IntVar | None:
        """1 where any pod of a kind is placed in a domain; ``None`` where none can."""
        sites = [s for s in self._domains[key].get(code, ()) if (k, s) in self.placed]
        if not sites:
            return None
        found = self._presence.get((k, key, code))
        if found is None:
            found = self._presence[k, key, code] = self.cp.new_bool_var(f"p{k},{key},{code}")
            for s in sites:
                self.cp.add(self.placed[k, s] == 0).only_enforce_if(~found)
        return found

    def _matching_occupants(self, per_class: Iterable[int], column: LabelColumn) -> list[tuple[int, Occupants, int]]:
        """The occupants that match, with their domain."""
        matches = list(per_class)
        return [
            (number, occupants, int(column.codes[occupants.row]))
            for number, occupants in enumerate(self.question.occupants)
            if matches[occupants.class_id] > 0 and column.codes[occupants.row] >= 0
        ]

    def _anti_affinity(self) -> None:
        kinds = self.question.kinds
        rivals: dict[str, set[tuple[int, int]]] = defaultdict(set)
        columns: dict[str, LabelColumn] = {}
        for k, kind in enumerate(kinds):
            affinity = kind.sifted.affinity
            for counts in (*affinity.anti_affinity, *affinity.existing) if affinity is not None else ():
                columns[counts.key] = counts.column
                self.codes(counts.key, counts.column)
                for r, other in enumerate(kinds):
                    if counts.per_class[other.class_id] > 0:
                        rivals[counts.key].add((min(k, r), max(k, r)))
                for number, _, code in self._matching_occupants(counts.per_class.tolist(), counts.column):
                    self._requires_leaving(self.presence(k, counts.key, code), number)
        for key, pairs in rivals.items():
            alone = {k for k, r in pairs if k == r}
            for code, sites in self._domains[key].items():
                if code == -1:
                    continue
                for k, r in sorted(pairs):
                    self._apart(k, r, key, code, sites, alone)

    def _apart(self, k: int, r: int, key: str, code: int, sites: Sequence[int], alone: set[int]) -> None:
        """At most one of two kinds in a domain, and of one that keeps its own away at most one pod."""
        if code == _INNER:
            for s in sites:
                own = [self.placed[i, s] for i in {k, r} if (i, s) in self.placed]
                if own and {k, r} <= alone:
                    self.cp.add(sum(own) <= self.sites[s].n_nodes)
            return
        own = [x for i in sorted({k, r}) for x in self._in_domain(key, code, i)]
        if k == r or {k, r} <= alone:
            if own:
                self.cp.add(sum(own) <= 1)
            return
        first, second = self.presence(k, key, code), self.presence(r, key, code)
        if first is not None and second is not None:
            self.cp.add_at_most_one((first, second))

    def _affinity(self) -> None:
        for k, kind in enumerate(self.question.kinds):
            affinity = kind.sifted.affinity
            if affinity is None or not affinity.affinity:
                continue
            # The first of a series may go anywhere, if nobody matches it yet.
            first = affinity.matches_itself and not any(counts.counts.any() for counts in affinity.affinity)
            for counts in affinity.affinity:
                self._near(k, counts, first=first)

    def _near(self, k: int, counts: KeyCounts, *, first: bool) -> None:
        self.codes(counts.key, counts.column)
        helpers = [r for r, other in enumerate(self.question.kinds) if r != k and counts.per_class[other.class_id] > 0]
        occupants = self._matching_occupants(counts.per_class.tolist(), counts.column)
        seeds = []
        for code in self._domains[counts.key]:
            if code < 0 or counts.counts[code] > 0:
                continue
            here = self.presence(k, counts.key, code)
            if here is None:
                continue
            support: list[Linear] = [x for r in helpers for x in self._in_domain(counts.key, code, r)]
            support += [self.staying(number) for number, _, at in occupants if at == code]
            if first:
                seed = self.cp.new_bool_var("")
                seeds.append(seed)
                support.append(seed)
                for number, _, _ in occupants:
                    self._requires_leaving(seed, number)
            self.cp.add(sum(support) >= here)
        if seeds:
            self.cp.add_at_most_one(seeds)

    def _spread(self) -> None:
        kinds = self.question.kinds
        for k, kind in enumerate(kinds):
            for domains in kind.sifted.spread:
                # Those under the same constraint end together; of others it is not known who comes last.
                same = [r for r, other in enumerate(kinds) if r == k or _same_constraint(domains, other.sifted.spread)]
                if domains.constraint.selector:
                    # One without a selector, or with an empty one, counts nobody who is placed.
                    own = [r for r in same if domains.self_match and domains.moved[kinds[r].class_id]]
                    self._even(k, domains, own)

    def _even(self, k: int, domains: DomainCounts, together: Sequence[int]) -> None:
        constraint, key = domains.constraint, domains.constraint.topology_key
        self.codes(key, domains.column)
        kinds = self.question.kinds
        counted = [r for r, other in enumerate(kinds) if domains.moved[other.class_id]]
        staying = self._staying_by_domain(domains)
        few = int(domains.exists.sum()) < constraint.min_domains
        least: Linear = 0
        if not few:
            total = sum(len(kind.pods) for kind in kinds) + sum(len(o.pods) for o in self.question.occupants)
            least = self.cp.new_int_var(0, total + int(domains.counts.max(initial=0)), "")
            inner = set()
            for s in self._domains[key].get(_INNER, ()):
                site = self.sites[s]
                inner |= {int(domains.column.codes[row]) for row in site.rows}
                if domains.included[site.row]:
                    own = [self.placed[r, s] for r in counted if (r, s) in self.placed]
                    there = int(domains.counts[domains.column.codes[site.row]])
                    self.cp.add(site.n_nodes * least <= site.n_nodes * there + sum(own))
            for code in range(len(domains.column.values)):
                if domains.exists[code] and code not in inner:
                    own = [x for r in counted for x in self._included(domains, code, r)]
                    self.cp.add(least <= int(domains.counts[code]) + sum(own) + sum(staying.get(code, ())))
        for code, sites in self._domains[key].items():
            if code == _INNER:
                for s in sites:
                    self._even_inside(k, s, domains, least)
                continue
            here = self.presence(k, key, code) if code >= 0 else None
            if here is None or not any(domains.included[self.sites[s].row] for s in sites):
                continue
            own = [x for r in together for x in self._included(domains, code, r)]
            count: Linear = int(domains.counts[code]) + sum(own) + sum(staying.get(code, ()))
            # In terms of a variable, also where nothing else varies.
            self.cp.add(count - least <= constraint.max_skew - 1 + here).only_enforce_if(here)

    def _even_inside(self, k: int, s: int, domains: DomainCounts, least: Linear) -> None:
        """The same for each of several nodes that are domains of their own."""
        site = self.sites[s]
        room = domains.constraint.max_skew - int(domains.counts[domains.column.codes[site.row]])
        if (k, s) in self.placed and domains.included[site.row] and domains.self_match and room >= 0:
            self.cp.add(self.placed[k, s] <= site.n_nodes * (room + least))

    def _included(self, domains: DomainCounts, code: int, r: int) -> list[IntVar]:
        sites = self._domains[domains.constraint.topology_key].get(code, ())
        return [self.placed[r, s] for s in sites if (r, s) in self.placed and domains.included[self.sites[s].row]]

    def _staying_by_domain(self, domains: DomainCounts) -> dict[int, list[Linear]]:
        out: dict[int, list[Linear]] = defaultdict(list)
        for number, occupants, code in self._matching_occupants(domains.moved.tolist(), domains.column):
            if domains.included[occupants.row]:
                out[code].append(self.staying(number))
        return out


def _same_constraint(domains: DomainCounts, others: Iterable[DomainCounts]) -> bool:
    return any(
        other.constraint == domains.constraint
        and bool((other.included == domains.included).all())
        and bool((other.moved == domains.moved).all())
        for other in others
    )


def _conflict(wanted: Iterable[object], used: Iterable[object]) -> bool:
    from kschedctl.plugins.node_ports import HostPort

    every = [port for port in used if isinstance(port, HostPort)]
    return any(want.conflicts(port) for want in wanted if isinstance(want, HostPort) for port in every)


def _ports_of(pod: object) -> tuple[object, ...]:
    from kschedctl.api.pod import Pod
    from kschedctl.plugins.node_ports import host_ports

    return host_ports(pod) if isinstance(pod, Pod) else ()
