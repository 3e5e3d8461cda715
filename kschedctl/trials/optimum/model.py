"""The question as an integer program: the number of pods of each kind on each site, and the evicted pods.

The constraints hold for the final state of any placement order. They are exact for resources, ports and anti-affinity.
Affinity and spread constraints depend on the order: the model has only their consequences for the final state, and a
solution that the real filters refuse is excluded by a cut. Over sites of several nodes the model is a relaxation, and
its optimum is a bound.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from kschedctl.cluster.labels import LabelColumn
from kschedctl.scheduler.plugins.inter_pod_affinity.filtering import KeyCounts
from kschedctl.scheduler.plugins.node_ports import HostPort, host_ports
from kschedctl.scheduler.plugins.pod_topology_spread.filtering import DomainCounts
from kschedctl.trials.optimum.gangs import Gang
from kschedctl.trials.optimum.kinds import Occupants, Placement
from kschedctl.trials.optimum.program import Linear, Program, total
from kschedctl.trials.optimum.sites import PodCapacities, Site, is_per_node

#: The domain of a site in which every node is a domain of its own.
_INNER: Final = -2


class Model:
    """The integer program over some sites.

    placed: The number of pods per kind and site, for possible pairs.
    n_pods: The number of pods per kind that could be placed: pending, or recreated after an eviction.
    leaving: The number of evicted pods per group of occupants; ``None`` if none can be evicted.

    Args:
        sites: The nodes that may receive pods.
        for_preemptors: True if pods may leave only a node that receives a pod allowed to preempt them.
    """

    def __init__(self, capacity: PodCapacities, sites: Sequence[Site], *, for_preemptors: bool = True) -> None:
        self.capacity = capacity
        self.question = capacity.question
        self.sites = tuple(sites)
        self.program = Program()
        self.placed: dict[tuple[int, int], Linear] = {}
        self.leaving: list[Linear | None] = []
        self.n_pods: list[int] = []
        self.site_of_row = {row: number for number, site in enumerate(self.sites) for row in site.rows}
        self._on_row: dict[int, list[int]] = defaultdict(list)
        for number, occupants in enumerate(self.question.occupants):
            self._on_row[occupants.row].append(number)
        self._domains: dict[str, dict[int, list[int]]] = {}
        self._presence: dict[tuple[int, str, int], Linear] = {}
        with_others = {number for gang in self.question.gangs if gang.leaves_whole for number in gang.occupants}
        for number, occupants in enumerate(self.question.occupants):
            can = not for_preemptors or occupants.row in self.site_of_row or number in with_others
            self.leaving.append(self.program.variable(len(occupants.pods)) if can else None)
        self._add_placements()
        if for_preemptors:
            self._only_for_preemptors()
        self._limit_resources()
        self._ports()
        self._anti_affinity()
        self._affinity()
        self._spread()
        for gang in self.question.gangs:
            self._place_gang(gang)

    def _any_of(self, variables: Iterable[Linear]) -> Linear:
        """Return a variable that is 1 if any of some variables is positive."""
        found = self.program.variable()
        for x in variables:
            self.program.add(x <= 0, when=1 - found)
        return found

    def staying(self, number: int) -> Linear:
        """Return the number of occupants that stay."""
        return total((len(self.question.occupants[number].pods), -(self.leaving[number] or Linear())))

    def _add_placements(self) -> None:
        supply: dict[int, list[Linear]] = defaultdict(list)
        most_again: dict[int, int] = defaultdict(int)
        for number, occupants in enumerate(self.question.occupants):
            variable = self.leaving[number]
            if occupants.kind >= 0 and variable is not None:
                supply[occupants.kind].append(variable)
                most_again[occupants.kind] += len(occupants.pods)
        for k, kind in enumerate(self.question.kinds):
            every = len(kind.pods) + most_again[k]
            self.n_pods.append(every)
            most = self.capacity.most[k]
            for s, site in enumerate(self.sites):
                bound = min(every, int(most[site.row]) * site.n_nodes)
                if bound > 0:
                    self.placed[k, s] = self.program.variable(bound)
            self.program.add(total(self.of_kind(k)) <= len(kind.pods) + total(supply[k]))

    def of_kind(self, k: int) -> list[Linear]:
        """Return the variables of a kind."""
        return [self.placed[k, s] for s in range(len(self.sites)) if (k, s) in self.placed]

    def at_site(self, s: int) -> list[tuple[int, Linear]]:
        """Return the variables of a site, each with its kind."""
        return [(k, self.placed[k, s]) for k in range(len(self.question.kinds)) if (k, s) in self.placed]

    def counts_by_site(self, placement: Placement) -> Counter[tuple[int, int]]:
        """Return the number of pods of a placement per kind and site."""
        counts: Counter[tuple[int, int]] = Counter()
        for (k, row), n in placement.placed.items():
            if row in self.site_of_row:
                counts[k, self.site_of_row[row]] += n
        return counts

    def _only_for_preemptors(self) -> None:
        leaving_whole = [gang.occupants for gang in self.question.gangs if gang.leaves_whole and gang.occupants]
        of_groups = {number for numbers in leaving_whole for number in numbers}
        for number, occupants in enumerate(self.question.occupants):
            variable = self.leaving[number]
            if variable is not None and number not in of_groups:
                self.program.add(variable <= len(occupants.pods) * total(self._takers(occupants)))
        for numbers in leaving_whole:
            leaves = self.program.variable()
            for number in numbers:
                variable = self.leaving[number]
                assert variable is not None
                self.program.add(variable.equals(len(self.question.occupants[number].pods) * leaves))
            takers = (x for number in numbers for x in self._takers(self.question.occupants[number]))
            self.program.add(leaves <= total(takers))

    def _takers(self, occupants: Occupants) -> list[Linear]:
        """Return the variables of the kinds that may preempt occupants on their node."""
        kinds, site = self.question.kinds, self.site_of_row.get(occupants.row)
        here = self.at_site(site) if site is not None else []
        return [x for k, x in here if kinds[k].preempts and kinds[k].priority > occupants.priority]

    def requests_at(self, s: int, name: str) -> list[tuple[int, Linear]]:
        """Return the requested amount of an offered resource, with the variable of each kind that requests some."""
        if not self.capacity.offered[name][self.sites[s].row]:
            # Devices can provide a resource that is not offered; the real filters decide in the end.
            return []
        amounts = [(self.question.kinds[k].filters.wanted.get(name, 0), x) for k, x in self.at_site(s)]
        return [(amount, x) for amount, x in amounts if amount > 0]

    def _limit_resources(self) -> None:
        occupants = self.question.occupants
        for s, site in enumerate(self.sites):
            for name, free in self.capacity.free.items():
                requests = self.requests_at(s, name)
                if not requests:
                    continue
                room = int(free[site.row]) * site.n_nodes
                here = self._on_row.get(site.row, ())
                occupied = [(self.capacity.usage(occupants[o].class_id, name), o) for o in here]
                held = sum(amount * len(occupants[o].pods) for amount, o in occupied)
                kept = total(amount * self.staying(o) for amount, o in occupied if amount)
                # An overcommitted node rejects only pods that request the resource.
                requested = self._any_of(x for _, x in requests) if held > room else None
                self.program.add(total(amount * x for amount, x in requests) + kept <= room, when=requested)

    def _ports(self) -> None:
        kinds = self.question.kinds
        with_ports = [k for k, kind in enumerate(kinds) if kind.filters.ports]
        for (k, s), x in self.placed.items():
            for r in with_ports if kinds[k].filters.ports else ():
                if r > k and (r, s) in self.placed and _conflict(kinds[k].filters.ports, kinds[r].filters.ports):
                    self.program.add(x + self.placed[r, s] <= self.sites[s].n_nodes)
        for number, occupants in enumerate(self.question.occupants if with_ports else ()):
            used = host_ports(self.question.cluster.pods.classes[occupants.class_id].pod)
            for k in with_ports if occupants.row in self.site_of_row else ():
                if _conflict(kinds[k].filters.ports, used):
                    self._requires_leaving(self.placed.get((k, self.site_of_row[occupants.row])), number)

    def _requires_leaving(self, some: Linear | None, number: int) -> None:
        """Require all occupants to leave if a variable of at most 1 is 1."""
        if some is None:
            return
        variable = self.leaving[number]
        if variable is None:
            self.program.add(some <= 0)
        else:
            self.program.add(variable >= len(self.question.occupants[number].pods) * some)

    def _prepare_domains(self, key: str, column: LabelColumn) -> None:
        """Group sites by their domain: -1 without the label, ``_INNER`` if every node is a domain of its own."""
        if key in self._domains:
            return
        inner = is_per_node(column)
        domains: dict[int, list[int]] = defaultdict(list)
        for s, site in enumerate(self.sites):
            code = int(column.codes[site.row])
            domains[_INNER if inner and site.n_nodes > 1 and code >= 0 else code].append(s)
        self._domains[key] = domains

    def _in_domain(self, key: str, code: int, k: int) -> list[Linear]:
        return [self.placed[k, s] for s in self._domains[key].get(code, ()) if (k, s) in self.placed]

    def _present(self, k: int, key: str, code: int) -> Linear | None:
        """Return a variable that is 1 if a pod of a kind is in a domain; ``None`` if none can be."""
        sites = [s for s in self._domains[key].get(code, ()) if (k, s) in self.placed]
        if not sites:
            return None
        found = self._presence.get((k, key, code))
        if found is None:
            found = self._presence[k, key, code] = self._any_of(self.placed[k, s] for s in sites)
        return found

    def _matching_occupants(self, per_class: Iterable[int], column: LabelColumn) -> list[tuple[int, Occupants, int]]:
        """Return the matching occupants with their number and domain."""
        matches = list(per_class)
        return [
            (number, occupants, int(column.codes[occupants.row]))
            for number, occupants in enumerate(self.question.occupants)
            if matches[occupants.class_id] > 0 and column.codes[occupants.row] >= 0
        ]

    def _anti_affinity(self) -> None:
        kinds = self.question.kinds
        rivals: dict[str, set[tuple[int, int]]] = defaultdict(set)
        for k, kind in enumerate(kinds):
            for counts in kind.filters.exclusions:
                self._prepare_domains(counts.key, counts.column)
                for r, other in enumerate(kinds):
                    if counts.per_class[other.class_id] > 0:
                        rivals[counts.key].add((min(k, r), max(k, r)))
                for number, _, code in self._matching_occupants(counts.per_class.tolist(), counts.column):
                    self._requires_leaving(self._present(k, counts.key, code), number)
        for key, pairs in rivals.items():
            alone = {k for k, r in pairs if k == r}
            for code, sites in self._domains[key].items():
                if code == -1:
                    continue
                for k, r in sorted(pairs):
                    self._apart(k, r, key, code, sites, alone)

    def _apart(self, k: int, r: int, key: str, code: int, sites: Sequence[int], alone: set[int]) -> None:
        """Allow at most one of two kinds in a domain, and at most one pod of a kind that excludes itself."""
        if code == _INNER:
            for s in sites:
                own = [self.placed[i, s] for i in {k, r} if (i, s) in self.placed]
                if own and {k, r} <= alone:
                    self.program.add(total(own) <= self.sites[s].n_nodes)
            return
        own = [x for i in sorted({k, r}) for x in self._in_domain(key, code, i)]
        if k == r or {k, r} <= alone:
            if own:
                self.program.add(total(own) <= 1)
            return
        first, second = self._present(k, key, code), self._present(r, key, code)
        if first is not None and second is not None:
            self.program.add(total((first, second)) <= 1)

    def _affinity(self) -> None:
        for k, kind in enumerate(self.question.kinds):
            affinity = kind.filters.affinity
            if affinity is None or not affinity.affinity:
                continue
            # The first pod of a series may be placed anywhere if no pod matches its term yet.
            first = affinity.matches_itself and not any(counts.counts.any() for counts in affinity.affinity)
            for counts in affinity.affinity:
                self._near(k, counts, first=first)

    def _near(self, k: int, counts: KeyCounts, *, first: bool) -> None:
        self._prepare_domains(counts.key, counts.column)
        helpers = [r for r, other in enumerate(self.question.kinds) if r != k and counts.per_class[other.class_id] > 0]
        occupants = self._matching_occupants(counts.per_class.tolist(), counts.column)
        seeds = []
        for code in self._domains[counts.key]:
            if code < 0 or counts.counts[code] > 0:
                continue
            here = self._present(k, counts.key, code)
            if here is None:
                continue
            support: list[Linear] = [x for r in helpers for x in self._in_domain(counts.key, code, r)]
            support += [self.staying(number) for number, _, at in occupants if at == code]
            if first:
                seed = self.program.variable()
                seeds.append(seed)
                support.append(seed)
                for number, _, _ in occupants:
                    self._requires_leaving(seed, number)
            self.program.add(total(support) >= here)
        if seeds:
            self.program.add(total(seeds) <= 1)

    def _spread(self) -> None:
        kinds = self.question.kinds
        for k, kind in enumerate(kinds):
            for domains in kind.filters.spread:
                # Kinds with the same constraint are counted together; for other kinds the last pod is unknown.
                same = [
                    r
                    for r, other in enumerate(kinds)
                    if r == k
                    or any(
                        other.constraint == domains.constraint
                        and bool((other.included == domains.included).all())
                        and bool((other.moved == domains.moved).all())
                        for other in other.filters.spread
                    )
                ]
                if domains.constraint.selector:
                    # A constraint without a selector, or with an empty one, counts no placed pods.
                    own = [r for r in same if domains.self_match and domains.moved[kinds[r].class_id]]
                    self._even(k, domains, own)

    def _even(self, k: int, domains: DomainCounts, together: Sequence[int]) -> None:
        constraint, key = domains.constraint, domains.constraint.topology_key
        self._prepare_domains(key, domains.column)
        kinds = self.question.kinds
        counted = [r for r, other in enumerate(kinds) if domains.moved[other.class_id]]
        staying: dict[int, list[Linear]] = defaultdict(list)
        for number, occupants, code in self._matching_occupants(domains.moved.tolist(), domains.column):
            if domains.included[occupants.row]:
                staying[code].append(self.staying(number))
        few = int(domains.exists.sum()) < constraint.min_domains
        least = Linear()
        if not few:
            every = sum(len(kind.pods) for kind in kinds) + sum(len(o.pods) for o in self.question.occupants)
            least = self.program.variable(every + int(domains.counts.max(initial=0)))
            inner = set()
            for s in self._domains[key].get(_INNER, ()):
                site = self.sites[s]
                inner |= {int(domains.column.codes[row]) for row in site.rows}
                if domains.included[site.row]:
                    own = [self.placed[r, s] for r in counted if (r, s) in self.placed]
                    there = int(domains.counts[domains.column.codes[site.row]])
                    self.program.add(site.n_nodes * least <= site.n_nodes * there + total(own))
            for code in range(len(domains.column.values)):
                if domains.exists[code] and code not in inner:
                    own = [x for r in counted for x in self._included(domains, code, r)]
                    self.program.add(least <= int(domains.counts[code]) + total(own) + total(staying.get(code, ())))
        for code, sites in self._domains[key].items():
            if code == _INNER:
                for s in sites:
                    site = self.sites[s]
                    room = domains.constraint.max_skew - int(domains.counts[domains.column.codes[site.row]])
                    if (k, s) in self.placed and domains.included[site.row] and domains.self_match and room >= 0:
                        self.program.add(self.placed[k, s] <= site.n_nodes * (room + least))
                continue
            here = self._present(k, key, code) if code >= 0 else None
            if here is None or not any(domains.included[self.sites[s].row] for s in sites):
                continue
            own = [x for r in together for x in self._included(domains, code, r)]
            count = int(domains.counts[code]) + total(own) + total(staying.get(code, ()))
            self.program.add(count - least <= constraint.max_skew, when=here)

    def _place_gang(self, gang: Gang) -> None:
        own = [(s, x) for (k, s), x in self.placed.items() if k in gang.kinds]
        if not own:
            return
        some = self._any_of(x for _, x in own)
        there = gang.staying + total(self.staying(number) for number in gang.occupants)
        self.program.add(total(x for _, x in own) + there >= gang.min_count, when=some)
        if gang.column is not None:
            # Allow members in one domain; a site of several domains counts as one, which is a relaxation.
            chosen: dict[int, Linear] = {}
            for s, x in own:
                code = int(gang.column.codes[self.sites[s].row])
                if code < 0 or (gang.domain >= 0 and gang.domain not in gang.column.codes[list(self.sites[s].rows)]):
                    self.program.add(x <= 0)
                    continue
                if code not in chosen:
                    chosen[code] = self.program.variable()
                self.program.add(x <= 0, when=1 - chosen[code])
            self.program.add(total(chosen.values()) <= 1)
            for number in gang.occupants:
                here = chosen.get(int(gang.column.codes[self.question.occupants[number].row]), Linear())
                size = len(self.question.occupants[number].pods)
                self.program.add(self.staying(number) - size * here <= 0, when=some)

    def _included(self, domains: DomainCounts, code: int, r: int) -> list[Linear]:
        sites = self._domains[domains.constraint.topology_key].get(code, ())
        return [self.placed[r, s] for s in sites if (r, s) in self.placed and domains.included[self.sites[s].row]]


def _conflict(wanted: Iterable[HostPort], used: Iterable[HostPort]) -> bool:
    return any(want.conflicts(port) for want in wanted for port in used)
