"""Rules about pod groups: gangs that never start, members that differ, groups that nobody creates, gates."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kschedctl.cli.main import app
from kschedctl.common.findings import Severity
from kschedctl.linter.examples import manifests, node, snapshot
from kschedctl.linter.rules import RULES
from kschedctl.objects.releases.release import RELEASES, Release
from tests.linter.linting import lint

GROUP = "scheduling.k8s.io/v1beta1 PodGroup train\nschedulingPolicy: {gang: {minCount: 4}}\n"
MEMBER = "schedulingGroup: {podGroupName: train}\n"
CUSTOM = """apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  replicatedJobs:
  - template: {spec: {template: {spec: {schedulingGroup: {podGroupName: train}}}}}
"""
SCALER = "---\nautoscaling/v2 HorizontalPodAutoscaler train\nminReplicas: 1\nmaxReplicas: "


def release(version: str, *gates: str) -> Release:
    """Return a release with some feature gates on."""
    return RELEASES[version].with_features(dict.fromkeys(gates, True))


def found(text: str, code: str, **options: Any) -> list[str]:
    """Return the messages of a rule for an example."""
    return [each.message for each in lint(manifests(text), code, **options)]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ("batch/v1 Job train\nparallelism: 3\n", "Job train creates 3 pods at a time"),
        ("batch/v1 Job train\nparallelism: 8\ncompletions: 3\n", "Job train creates 3 pods at a time"),
        ("batch/v1 Job train\nparallelism: 4\ncompletions: 8\n", ""),
        ("batch/v1 Job train\n", "Job train creates 1 pod at a time"),
        ("apps/v1 Deployment train\nreplicas: 3\n", "Deployment train creates 3 pods at a time"),
        ("apps/v1 Deployment train\nreplicas: 4\n", ""),
        # A workload that is scaled to zero is switched off.
        ("apps/v1 Deployment train\nreplicas: 0\n", ""),
        # An autoscaler can create the pods; one with a lower limit cannot.
        (f"apps/v1 Deployment train\n{MEMBER}{SCALER}4\n", ""),
        (f"apps/v1 Deployment train\n{MEMBER}{SCALER}3\n", "Deployment train creates 3 pods at a time"),
        ("apps/v1 StatefulSet train\nreplicas: 4\n", "StatefulSet train creates 1 pod at a time (podManagementPolicy"),
        ("v1 Pod train-0\n", "Pod train-0 creates 1 pod at a time"),
        # The number of nodes, and that of runs, is not known.
        ("apps/v1 DaemonSet train\n", ""),
    ],
)
def test_a_gang_needs_as_many_pods_as_its_workloads_create(members: str, message: str) -> None:
    text = f"{GROUP}---\n{members}" + ("" if MEMBER in members else MEMBER)
    messages = found(text, "KS701")
    assert len(messages) == bool(message)
    assert all(each.startswith(f"minCount is 4, and {message}") for each in messages)


def test_a_stateful_set_that_starts_its_pods_in_parallel_can_be_a_gang() -> None:
    text = manifests(f"{GROUP}---\napps/v1 StatefulSet train\nreplicas: 4\n{MEMBER}")
    assert lint(text.replace("replicas: 4", "replicas: 4\n  podManagementPolicy: Parallel"), "KS701") == []


def test_members_of_several_workloads_add_up() -> None:
    both = f"---\nbatch/v1 Job workers\nparallelism: 3\n{MEMBER}---\nv1 Pod leader\n{MEMBER}"
    assert found(f"{GROUP}{both}", "KS701") == []
    assert found(f"{GROUP.replace('4', '5')}{both}", "KS701") == [
        "minCount is 5, and Pod leader and Job workers create 4 pods at a time"
    ]


@pytest.mark.parametrize(
    "other",
    [
        CUSTOM,
        CUSTOM.replace("podGroupName: train", 'podGroupName: "{{ .group }}"'),
        # A manifest for kubectl create, which may be used several times.
        manifests(f"batch/v1 Job x\n{MEMBER}").replace("name: x\n", "generateName: x-\n", 1),
        # A patch.
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n"
        f"spec: {{template: {{spec: {{{MEMBER.strip()}}}}}}}\n",
        manifests(f"apps/v1 DaemonSet x\n{MEMBER}"),
    ],
)
def test_a_gang_with_members_of_unknown_number_is_not_judged(other: str) -> None:
    few = manifests(f"{GROUP}---\nbatch/v1 Job train\nparallelism: 3\n{MEMBER}")
    assert len(lint(few, "KS701")) == 1
    assert lint(f"{few}---\n{other}", "KS701") == []


def test_a_replica_of_a_custom_kind_may_be_several_pods() -> None:
    custom = manifests(f"apps/v1 Deployment train\nreplicas: 2\n{MEMBER}").replace("apps/v1", "example.com/v1")
    text = f"{manifests(GROUP)}---\n{custom}".replace("Deployment", "LeaderWorkerSet")
    assert lint(text, "KS701", pod_templates={"example.com/LeaderWorkerSet": ("spec", "template")}) == []


def test_the_members_of_a_cluster_count_unless_they_belong_to_the_workload() -> None:
    job = f"{GROUP}---\nbatch/v1 Job train\nparallelism: 3\n{MEMBER}"
    owner = "ownerReferences: [{{kind: Job, name: {0}, controller: true}}]"
    stored = (
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: p, namespace: default, {0}}}\nspec: {{{1}, containers: []}}\n"
    )
    for name, count in (("train", 1), ("other", 0)):
        cluster = snapshot(node("a"), stored.format(owner.format(name), MEMBER.strip()))
        assert len(found(job, "KS701", snapshot=cluster)) == count


def test_rules_about_gangs_are_silent_where_gangs_have_no_effect() -> None:
    text = f"{GROUP}---\nbatch/v1 Job train\n{MEMBER}"
    for chosen, count in (
        (release("1.35"), 0),
        (release("1.36"), 1),
        (release("1.36", "GenericWorkload"), 0),
        (release("1.36", "GenericWorkload", "GangScheduling"), 1),
        (release("1.37", "GenericWorkload"), 1),
    ):
        assert len(found(text, "KS701", release=chosen)) == count


CLASSES = """---
scheduling.k8s.io/v1 PriorityClass high
value: 1000
---
scheduling.k8s.io/v1 PriorityClass same
value: 1000
preemptionPolicy: Never
"""


@pytest.mark.parametrize(
    ("group", "one", "other", "messages"),
    [
        ("", "", "", []),
        ("", "", "schedulerName: batch\n", ["schedulerName is batch, and Job one of the same group has default-sch"]),
        ("", "schedulerName: default-scheduler\n", "", []),
        (*("", "priorityClassName: high\n", ""), ["priority 1000 differs from priority 0 of PodGroup train"]),
        (
            *("priorityClassName: high\n", "priorityClassName: high\n", ""),
            ["priority 0 differs from priority 1000 of PodGroup train"],
        ),
        ("priorityClassName: high\n", "priorityClassName: high\n", "priorityClassName: high\n", []),
        (
            *("priorityClassName: high\n", "priorityClassName: high\n", "priorityClassName: same\n"),
            ["preemptionPolicy Never differs from PreemptLowerPriority of Job one of the same group"],
        ),
        # Without PodGroupPreemptionPolicy the policy of the group does not matter.
        ("priorityClassName: high\n", "priorityClassName: same\n", "priorityClassName: same\n", []),
        # The priority of a class that is not in the manifests is not known, but is the same for group and pods.
        ("priorityClassName: unknown\n", "priorityClassName: high\n", "priorityClassName: high\n", []),
        ("priorityClassName: unknown\n", "priorityClassName: unknown\n", "priorityClassName: unknown\n", []),
    ],
)
def test_members_have_one_scheduler_priority_and_policy(group: str, one: str, other: str, messages: list[str]) -> None:
    text = f"{GROUP}{group}---\nbatch/v1 Job one\n{MEMBER}{one}---\nbatch/v1 Job two\n{MEMBER}{other}{CLASSES}"
    answers = found(text, "KS702", release=release("1.37", "GenericWorkload"))
    assert [answer[: len(message)] for answer, message in zip(answers, messages, strict=True)] == messages


def test_priorities_differ_only_in_1_37_and_policies_of_the_group_only_with_the_gate() -> None:
    text = f"{GROUP}priorityClassName: high\n---\nbatch/v1 Job one\n{MEMBER}priorityClassName: same\n{CLASSES}"
    with_policy = release("1.37", "GenericWorkload", "PodGroupPreemptionPolicy")
    assert found(text, "KS702") == []
    assert found(text, "KS702", release=with_policy) == [
        "preemptionPolicy Never differs from PreemptLowerPriority of PodGroup train"
    ]
    differs = text.replace("priorityClassName: same\n", "")
    assert len(found(differs, "KS702")) == 1
    assert found(differs, "KS702", release=RELEASES["1.36"]) == []


def test_group_and_classes_of_the_cluster_count() -> None:
    job = f"batch/v1 Job one\n{MEMBER}priorityClassName: high\n"
    stored = GROUP.replace("train\n", "train\nnamespace: default\n") + "priority: {0}\n"
    for priority, messages in (("1000", []), ("500", ["priority 1000 differs from priority 500 of PodGroup train"])):
        cluster = snapshot(node("a"), stored.replace("{0}", priority), CLASSES.removeprefix("---\n"))
        assert found(job, "KS702", snapshot=cluster) == messages


def test_manifests_of_several_creations_are_compared_with_themselves() -> None:
    pod = manifests(f"v1 Pod x\n{MEMBER}").replace("name: x\n", "generateName: x-\n", 1)
    assert lint(f"{pod}---\n{pod}", "KS702") == []


@pytest.mark.parametrize(
    ("group", "member", "names"),
    [
        ("", "", 0),
        ("namespace: ml\n", "namespace: ml\n", 0),
        ("namespace: ml\n", "namespace: web\n", 1),
        # Without a namespace in the manifest, -n chooses it.
        ("namespace: ml\n", "", 0),
    ],
)
def test_a_group_is_in_the_namespace_of_its_pods(group: str, member: str, names: int) -> None:
    text = f"{GROUP}{group}---\nbatch/v1 Job train\n{member}{MEMBER}"
    answers = lint(manifests(text), "KS703")
    assert [(each.message, each.help) for each in answers] == names * [
        ("PodGroup train does not exist in namespace web", "PodGroup train is in namespace ml")
    ]


def test_a_group_of_the_cluster_exists() -> None:
    job = f"batch/v1 Job train\n{MEMBER}"
    stored = GROUP.replace("train\n", "train\nnamespace: default\n")
    assert found(job, "KS703", snapshot=snapshot(node("a"), stored)) == []
    other = stored.replace("PodGroup train", "PodGroup eval")
    assert found(job, "KS703", snapshot=snapshot(node("a"), other)) == ["PodGroup train does not exist"]
    # A snapshot without any PodGroup may be one that does not contain the kind.
    assert found(job, "KS703", snapshot=snapshot(node("a"))) == []


@pytest.mark.parametrize("more", [CUSTOM, manifests(f"batch/v1 Job x\n{MEMBER}"), ""])
def test_a_group_without_members(more: str) -> None:
    assert len(lint(f"{manifests(GROUP)}---\n{more}", "KS704")) == (not more)


def test_a_group_has_the_members_of_the_cluster() -> None:
    pod = manifests(f"v1 Pod x\nnamespace: default\n{MEMBER}")
    assert found(GROUP, "KS704", snapshot=snapshot(node("a"), pod)) == []
    assert len(found(GROUP, "KS704", snapshot=snapshot(node("a")))) == 1


def test_a_topology_key_counts_only_with_its_gate() -> None:
    text = f"{GROUP}schedulingConstraints: {{topology: [{{key: rak}}]}}\n"
    cluster = snapshot(node("a", rack="r1"))
    answers = lint(manifests(text), "KS705", snapshot=cluster)
    assert [(each.message, each.help) for each in answers] == [
        ("no node has the label rak, so the group has no placement", "did you mean rack?")
    ]
    without = release("1.37", "GenericWorkload")
    assert found(text, "KS705", snapshot=cluster, release=without) == []
    assert found(text.replace("rak", "rack"), "KS705", snapshot=cluster) == []


ALL_FIELDS = f"""{GROUP}schedulingConstraints: {{topology: [{{key: rack}}]}}
disruptionMode: PodGroup
priorityClassName: high
---
batch/v1 Job train
{MEMBER}"""


@pytest.mark.parametrize(
    ("chosen", "severity", "messages"),
    [
        (release("1.35"), Severity.WARNING, ["Kubernetes 1.35 has no PodGroups of this form, so the pods are sch"]),
        (
            release("1.36"),
            Severity.INFO,
            ["schedulingGroup has no effect without the feature gate GenericWorkload, which is off by"],
        ),
        (
            *(release("1.36", "GenericWorkload"), Severity.WARNING),
            [
                "gang has no effect: the feature gate GangScheduling is off",
                "schedulingConstraints has no effect: the feature gate TopologyAwareWorkloadScheduling is off",
                "disruptionMode has no effect: the feature gate WorkloadAwarePreemption is off",
                "priorityClassName has no effect: the feature gate WorkloadAwarePreemption is off",
            ],
        ),
        (
            *(release("1.37", "GenericWorkload"), Severity.WARNING),
            ["schedulingConstraints has no effect: the feature gate TopologyAwareWorkloadScheduling is off"],
        ),
        (release("1.37", "GenericWorkload", "TopologyAwareWorkloadScheduling"), Severity.WARNING, []),
    ],
)
def test_fields_without_their_gates_have_no_effect(chosen: Release, severity: Severity, messages: list[str]) -> None:
    answers = lint(manifests(ALL_FIELDS), "KS706", release=chosen)
    assert [each.message[: len(message)] for each, message in zip(answers, messages, strict=True)] == messages
    assert {each.severity for each in answers} <= {severity}


def test_gates_that_a_cluster_does_not_show_may_be_on() -> None:
    stored = GROUP.replace("train\n", "train\nnamespace: default\n")
    cluster = snapshot(node("a"), stored)
    chosen = release("1.37", "GenericWorkload")
    answers = lint(manifests(ALL_FIELDS), "KS70", snapshot=cluster, release=chosen)
    assert sorted((each.rule.code, each.severity, each.message) for each in answers) == [
        ("KS701", Severity.ERROR, "minCount is 4, and Job train creates 1 pod at a time"),
        ("KS705", Severity.ERROR, "no node has the label rack, so the group has no placement"),
        (
            *("KS706", Severity.INFO),
            "schedulingConstraints has no effect without the feature gate TopologyAwareWorkloadScheduling, "
            "which is off by default in Kubernetes 1.37",
        ),
    ]


def test_the_priority_of_a_new_group_is_that_of_its_class() -> None:
    text = manifests(f"{GROUP}priority: 5\n")
    chosen = release("1.37", "GenericWorkload")
    assert [each.message for each in lint(text, "KS90", release=chosen)] == [
        "spec.priority: priority set in the pod group (5) must match the priority computed (0) based on the priority "
        "class set in the spec"
    ]
    stored = text.replace("  name: train\n", "  name: train\n  uid: a\n")
    assert lint(stored, "KS906", release=chosen) == []


@pytest.mark.parametrize(
    ("version", "release_", "message", "hint"),
    [
        ("v1beta1", "1.37", "", ""),
        ("v1beta1", "1.36", "not served before Kubernetes 1.37", "use scheduling.k8s.io/v1alpha2"),
        ("v1beta1", "1.35", "not served before Kubernetes 1.37", "use Kubernetes 1.37 or newer"),
        ("v1alpha2", "1.36", "", ""),
        ("v1alpha2", "1.35", "not served before Kubernetes 1.36", "use Kubernetes 1.36 or newer"),
        ("v1alpha2", "1.37", "no longer served as of Kubernetes 1.37", "use scheduling.k8s.io/v1beta1"),
    ],
)
def test_a_version_is_served_by_some_releases(version: str, release_: str, message: str, hint: str) -> None:
    text = manifests(GROUP.replace("v1beta1", version))
    answers = lint(text, "KS905", release=RELEASES[release_])
    expected = [(f"PodGroup of scheduling.k8s.io/{version} is {message}", hint)] if message else []
    assert [(each.message, each.help) for each in answers] == expected


@pytest.mark.parametrize(
    ("object_", "release_", "message", "hint"),
    [
        ("scheduling.k8s.io/v1beta1 CompositePodGroup all", "1.38", "", ""),
        (
            "scheduling.k8s.io/v1beta1 CompositePodGroup all",
            "1.37",
            "CompositePodGroup of scheduling.k8s.io/v1beta1 is not served before Kubernetes 1.38",
            "use scheduling.k8s.io/v1alpha3",
        ),
        ("resource.k8s.io/v1beta1 DeviceClass gpu", "1.37", "", ""),
        (
            "resource.k8s.io/v1beta1 DeviceClass gpu",
            "1.38",
            "DeviceClass of resource.k8s.io/v1beta1 is no longer served as of Kubernetes 1.38",
            "use resource.k8s.io/v1",
        ),
    ],
)
def test_what_1_38_serves(object_: str, release_: str, message: str, hint: str) -> None:
    answers = lint(manifests(f"{object_}\n"), "KS905", release=RELEASES[release_])
    assert [(each.message, each.help) for each in answers] == ([(message, hint)] if message else [])


def test_members_are_tried_against_a_cluster_one_by_one() -> None:
    text = f"{GROUP}---\nbatch/v1 Job train\nparallelism: 4\n{MEMBER}resources: {{requests: {{cpu: 1, memory: 1Mi}}}}\n"
    on = {"GenericWorkload": True}
    for cpu, messages in (
        (4, []),
        (3, ["3 of 4 replicas fit; the next one: a has 0 of 3 cpu free, the pod wants 1 cpu"]),
    ):
        cluster = snapshot(node("a", cpu=cpu))
        answers = lint(manifests(text), "KS50", snapshot=cluster, feature_gates=on)
        assert [each.message for each in answers] == messages


@pytest.mark.parametrize("name", ["failing_manifests", "passing_manifests"])
@pytest.mark.parametrize(
    ("code", "more"),
    [
        *(("KS701", ""), ("KS702", ""), ("KS703", "")),
        ("KS705", manifests(f"---\nbatch/v1 Job train\nparallelism: 4\ncompletions: 4\n{MEMBER}")),
    ],
)
def test_the_engine_agrees_with_the_examples(tmp_path: Path, code: str, more: str, name: str) -> None:
    rule = next(each for each in RULES if each.code == code)
    for file, text in (
        ("cluster.yaml", snapshot(node("a", cpu=8, rack="r1"), node("b", cpu=8, rack="r2"))),
        ("manifest.yaml", getattr(rule, name) + more),
    ):
        tmp_path.joinpath(file).write_text(text)
    gates = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
    words = ["explain", "-f", str(tmp_path / "manifest.yaml"), "--snapshot", str(tmp_path / "cluster.yaml")]
    done = CliRunner().invoke(app, [*words, "--feature-gates", gates])
    assert done.exit_code == (name == "failing_manifests"), done.output
