"""Two examples per command, which are printed at the end of its help."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Example(NamedTuple):
    """A description of an example, and the arguments of its command."""

    what: str
    arguments: str


#: The examples by command; the empty name is the program itself.
EXAMPLES: Final[Mapping[str, tuple[Example, ...]]] = {
    "": (
        Example("Explain why a pod is pending in the cluster of the current kubectl context:", "explain shop/web-7"),
        Example("Explain a manifest against a snapshot:", "explain -f web.yaml --snapshot prod.tar.gz"),
    ),
    "nodes": (
        Example("Show the free capacity of all nodes, the fullest first:", "nodes --sort-by cpu"),
        Example("Show the free capacity of each zone, as JSON:", "nodes --by zone -o json"),
    ),
    "pending": (
        Example("List pending pods by cause and age, with changes that would help:", "pending --snapshot prod.tar.gz"),
        Example(
            "Show changes, with commands, that would schedule the pods of one namespace:", "pending -n shop -o wide"
        ),
    ),
    "explain": (
        Example("Explain why a pod is pending:", "explain shop/web-7 --snapshot prod.tar.gz"),
        Example(
            "Check whether a manifest fits with more memory, with the details of one node:",
            "explain -f web.yaml --set-request memory=2Gi --node node-1 --why",
        ),
    ),
    "preempt": (
        Example("Show the victims that a pod would evict, and all other candidates:", "preempt shop/search-3 -o wide"),
        Example("Show the pending pods that would evict a pod:", "preempt --victim batch/report-6"),
    ),
    "volumes": (
        Example("Explain why a claim has no volume:", "volumes shop/figures"),
        Example("List all claims of all namespaces as JSON:", "volumes -A -o json"),
    ),
    "devices": (
        Example("List all devices, the claims that hold them, and pools that are not used:", "devices"),
        Example("Show the nodes with the devices of a claim, and what the others lack:", "devices ml/train -o wide"),
    ),
    "simulate": (
        Example("Schedule the pending pods one after another, and show placements and evictions:", "simulate -o wide"),
        Example(
            "Add two workloads, remove a zone, and save the final state as a snapshot:",
            "simulate web.yaml db.yaml --fail-zone eu-1a --save after",
        ),
    ),
    "optimum": (
        Example("Compare the scheduler with the best placement of all pending pods:", "optimum -o wide"),
        Example("Add a workload, and use as few nodes as possible:", "optimum web.yaml --goal nodes --time-limit 10"),
    ),
    "capacity": (
        Example("Count how many more replicas of a Deployment fit, and what stops the next:", "capacity deploy/web"),
        Example(
            "Count two sizes of pods after adding three nodes:", "capacity small.yaml large.yaml --apply node.yaml*3"
        ),
    ),
    "drain": (
        Example(
            "Check whether a node can be drained, and where its pods are scheduled:", "drain node-7 --ignore-daemonsets"
        ),
        Example(
            "Check whether a rolling upgrade of a node pool finishes, with one surge node:",
            "drain -l pool=general --ignore-daemonsets --delete-emptydir-data --rolling --surge 1",
        ),
    ),
    "rollout": (
        Example("Check whether a restart of a Deployment finishes:", "rollout deploy/web -n shop"),
        Example(
            "Check whether the rollout of a new version finishes while two nodes are cordoned:",
            "rollout -f web.yaml --cordon 'node-[12]'",
        ),
    ),
    "sweep": (
        Example(
            "Answer all cases of a plan, and save the results so that the run can be resumed:",
            "sweep plan.yaml --results r.jsonl",
        ),
        Example("Print the scheduler configuration of case 17:", "sweep plan.yaml --config-of 17"),
    ),
    "watch": (
        Example("Report pending pods of all namespaces, and why, until interrupted:", "watch -A"),
        Example(
            "Write Events on the pods, from one of several replicas:",
            "watch -A --events --leader-elect --lease kube-system/kschedctl-watch --metrics :8080 -o jsonl",
        ),
    ),
    "serve": (
        Example("Serve the cluster of the current kubectl context at http://127.0.0.1:8080/:", "serve"),
        Example(
            "Serve a snapshot to others, who need the token in a file:",
            "serve --snapshot prod.tar.gz --listen :8080 --token-file token --host ksched.example.com",
        ),
    ),
    "leader": (
        Example("Show all leaders, and when another candidate would take over:", "leader"),
        Example(
            "Check whether a scheduler's configuration matches its Lease:",
            "leader --snapshot prod.tar.gz --config scheduler.yaml",
        ),
    ),
    "leader run": (
        Example("Run one copy of a program at a time:", "leader run --lease shop/report -- ./report --forever"),
        Example(
            "Fail over within ten seconds after a crash:",
            "leader run --lease shop/report --lease-duration 5s --renew-deadline 2s --retry-period 500ms "
            "--grace-period 1s -- ./report",
        ),
    ),
    "leader simulate": (
        Example(
            "Simulate a crash of the leader, then a network partition of the next one:",
            "leader simulate --crash 20s --partition 40s-70s",
        ),
        Example(
            "Find times for a fail-over within 10 seconds, with a clock drift of 1 %:",
            "leader simulate --fail-over 10s --clock-drift 1%",
        ),
    ),
    "diff": (
        Example("Show what changes if some nodes are drained:", "diff -A --drain 'node-*'"),
        Example(
            "Show what another release decides differently:",
            "diff -A --all-pods --snapshot prod.tar.gz --against-version 1.36",
        ),
    ),
    "lint": (
        Example("Check the manifests in a folder:", "lint deploy/"),
        Example(
            "Check manifests against a cluster, and write a SARIF log for code scanning:",
            "lint deploy/ --snapshot prod.tar.gz -o human -o sarif --output-file lint.sarif",
        ),
    ),
    "rule": (
        Example("Show the documentation of a rule:", "rule KS201"),
        Example("List all rules with a prefix:", "rule KS3"),
    ),
    "batch": (
        Example("Decide the cases of a file on all cores:", "batch cases.jsonl.gz"),
        Example(
            "Decide cases from standard input by the rules of one release:",
            "batch - --kubernetes-version 1.35 < cases.jsonl",
        ),
    ),
    "verify": (
        Example("Compare all answers with the decisions of the cluster's scheduler:", "verify"),
        Example("List the pods of a snapshot that differ:", "verify --snapshot prod.tar.gz -o name"),
    ),
    "snapshot": (
        Example("Write a snapshot of the cluster of the current kubectl context:", "snapshot -o prod.tar.gz"),
        Example("Write an anonymised snapshot for a bug report:", "snapshot -o report.tar.gz --anonymize"),
    ),
    "snapshot info": (
        Example("Show what a snapshot contains:", "snapshot info prod.tar.gz"),
        Example("Show what several files contain, as JSON:", "snapshot info prod.tar.gz prod-version.json -o json"),
    ),
}
