"""Two examples per command, at the end of its help."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Example(NamedTuple):
    """A question, and the arguments that ask it."""

    what: str
    arguments: str


#: By command; the empty name is the program itself.
EXAMPLES: Final[Mapping[str, tuple[Example, ...]]] = {
    "": (
        Example("Why does this pod wait? In the cluster of the current kubectl context:", "explain shop/web-7"),
        Example("The same for a manifest and a snapshot:", "explain -f web.yaml --snapshot prod.tar.gz"),
    ),
    "pending": (
        Example("Who waits, since when, for what, and what would help?", "pending --snapshot prod.tar.gz"),
        Example("What would place the pods of one namespace, with commands?", "pending -n shop -o wide"),
    ),
    "explain": (
        Example("Why does this pod wait?", "explain shop/web-7 --snapshot prod.tar.gz"),
        Example(
            "Would a manifest fit with more memory, and how does one node answer?",
            "explain -f web.yaml --set-request memory=2Gi --node node-1 --why",
        ),
    ),
    "preempt": (
        Example("Whom would this pod evict, and what are the other candidates?", "preempt shop/search-3 -o wide"),
        Example("Who would evict this pod?", "preempt --victim batch/report-6"),
    ),
    "volumes": (
        Example("Why does this claim wait for a volume?", "volumes shop/figures"),
        Example("All claims of all namespaces, as data:", "volumes -A -o json"),
    ),
    "devices": (
        Example("Which devices are there, who holds them, and which are not used?", "devices"),
        Example("Which nodes have the devices of this claim, and what do the others lack?", "devices ml/train -o wide"),
    ),
    "simulate": (
        Example("Where would the waiting pods go, one after another, and whom would they evict?", "simulate -o wide"),
        Example(
            "The same with two workloads more and a zone less; the cluster as it would be, for other commands:",
            "simulate web.yaml db.yaml --fail-zone eu-1a --save after",
        ),
    ),
    "optimum": (
        Example("How far is the scheduler from the best placement of the pods that wait?", "optimum -o wide"),
        Example(
            "The same with a workload more, on as few nodes as can be:", "optimum web.yaml --goal nodes --time-limit 10"
        ),
    ),
    "capacity": (
        Example("How many replicas more could this Deployment have, and what stops the next?", "capacity deploy/web"),
        Example("The same for two sizes, with three nodes more:", "capacity small.yaml large.yaml --apply node.yaml*3"),
    ),
    "drain": (
        Example("Can this node be drained, and where do its pods go?", "drain node-7 --ignore-daemonsets"),
        Example(
            "Does an upgrade of a pool get through, with one node more while it lasts?",
            "drain -l pool=general --ignore-daemonsets --delete-emptydir-data --rolling --surge 1",
        ),
    ),
    "rollout": (
        Example("Would a restart of this Deployment finish?", "rollout deploy/web -n shop"),
        Example(
            "Does this new version come in, on nodes of which two are cordoned?",
            "rollout -f web.yaml --cordon 'node-[12]'",
        ),
    ),
    "sweep": (
        Example(
            "A thousand what-ifs as a table, to go on with where it is interrupted:",
            "sweep plan.yaml --results r.jsonl",
        ),
        Example(
            "Which weights pack best, as a picture, and the configuration of case 17:", "sweep plan.yaml --config-of 17"
        ),
    ),
    "watch": (
        Example("Which pods wait in the cluster, and why, from now on?", "watch -A"),
        Example(
            "The same as Events on the pods, from one of two copies:",
            "watch -A --events --leader-elect --lease kube-system/kschedctl-watch --metrics :8080 -o jsonl",
        ),
    ),
    "leader": (
        Example("Who leads, and when would another take over?", "leader"),
        Example(
            "Does a scheduler's configuration fit its Lease?", "leader --snapshot prod.tar.gz --config scheduler.yaml"
        ),
    ),
    "leader run": (
        Example("Run one copy at a time of something:", "leader run --lease shop/report -- ./report --forever"),
        Example(
            "The same with another within ten seconds after a crash:",
            "leader run --lease shop/report --lease-duration 5s --renew-deadline 2s --retry-period 500ms "
            "--grace-period 1s -- ./report",
        ),
    ),
    "leader simulate": (
        Example(
            "What happens when the leader dies, and the next one is cut off?",
            "leader simulate --crash 20s --partition 40s-70s",
        ),
        Example(
            "Which times have another leader within 10 seconds, with clocks that are 1 % off?",
            "leader simulate --fail-over 10s --clock-drift 1%",
        ),
    ),
    "diff": (
        Example("What changes when some nodes are drained?", "diff -A --drain 'node-*'"),
        Example(
            "What does the next release decide otherwise?",
            "diff -A --all-pods --snapshot prod.tar.gz --against-version 1.36",
        ),
    ),
    "lint": (
        Example("What is wrong in these manifests?", "lint deploy/"),
        Example(
            "The same for a cluster, with a log for code scanning:",
            "lint deploy/ --snapshot prod.tar.gz -o human -o sarif --output-file lint.sarif",
        ),
    ),
    "rule": (
        Example("What does this rule say, why, and how is it repaired?", "rule KS201"),
        Example("All rules of a family:", "rule KS3"),
    ),
    "batch": (
        Example("Answer cases from a file over all cores:", "batch cases.jsonl.gz"),
        Example("From standard input, by the rules of one release:", "batch - --kubernetes-version 1.35 < cases.jsonl"),
    ),
    "verify": (
        Example("Does kschedctl agree with the cluster's scheduler?", "verify"),
        Example("The pods of a snapshot that it disagrees about:", "verify --snapshot prod.tar.gz -o name"),
    ),
    "snapshot": (
        Example("Write the cluster of the current kubectl context:", "snapshot -o prod.tar.gz"),
        Example("One that can go into a bug report:", "snapshot -o report.tar.gz --anonymize"),
    ),
    "snapshot info": (
        Example("What is in a snapshot?", "snapshot info prod.tar.gz"),
        Example("The same as data:", "snapshot info prod.tar.gz prod-version.json -o json"),
    ),
}
