"""The rules: a line each, in the order of their codes. A rule is a module below this folder and a line here."""

from __future__ import annotations

from typing import Final

from kschedctl.findings.finding import Severity
from kschedctl.lint.rule import About, Rule, Stop

_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO
_A, _B, _C, _D = Stop.REFUSED, Stop.PODS_REFUSED, Stop.WAITS, Stop.HANGS
_PODS: Final = About.PODS
_PDB: Final = "policy/PodDisruptionBudget"
_PRIORITY_CLASS: Final = "scheduling.k8s.io/PriorityClass"
_STORAGE_CLASS: Final = "storage.k8s.io/StorageClass"
_PV: Final = "PersistentVolume"
_CONFIG: Final = "kubescheduler.config.k8s.io/KubeSchedulerConfiguration"
_PVC: Final = "PersistentVolumeClaim"

RULES: Final[tuple[Rule, ...]] = (
    Rule("KS101", "node-affinity-unsatisfiable", _E, _C, _PODS, "pod.node_affinity_unsatisfiable"),
    Rule("KS102", "node-affinity-dead-term", _W, _C, _PODS, "pod.node_affinity_dead_term"),
    Rule("KS103", "impossible-node-label-value", _E, _C, _PODS, "pod.impossible_node_label_value"),
    Rule("KS104", "master-label", _W, _C, _PODS, "pod.master_label"),
    Rule("KS105", "deprecated-node-label", _I, _C, _PODS, "pod.deprecated_node_label"),
    Rule("KS106", "master-taint-only", _I, _C, _PODS, "pod.master_taint_only"),
    Rule("KS107", "control-plane-untolerated", _W, _C, _PODS, "pod.control_plane_untolerated"),
    Rule("KS108", "tolerates-cordon", _W, _D, _PODS, "pod.tolerates_cordon"),
    Rule("KS109", "spread-without-selector", _W, _C, _PODS, "pod.spread_without_selector"),
    Rule("KS110", "spread-misses-own-pods", _W, _C, _PODS, "pod.spread_misses_own_pods"),
    Rule("KS111", "spread-one-domain", _I, _C, _PODS, "pod.spread_one_domain"),
    Rule("KS112", "spread-domains-out-of-reach", _E, _C, _PODS, "pod.spread_domains_out_of_reach"),
    Rule("KS113", "spread-counts-tainted-nodes", _I, _C, _PODS, "pod.spread_counts_tainted_nodes"),
    Rule("KS114", "spread-across-revisions", _I, _D, _PODS, "pod.spread_across_revisions"),
    Rule("KS115", "match-label-key-absent", _W, _C, _PODS, "pod.match_label_key_absent"),
    Rule("KS116", "affinity-matches-nobody", _W, _C, _PODS, "pod.affinity_matches_nobody", on=False, if_complete=True),
    Rule("KS117", "anti-affinity-matches-nobody", _I, _C, _PODS, "pod.anti_affinity_matches_nobody"),
    Rule("KS118", "affinity-against-itself", _E, _C, _PODS, "pod.affinity_against_itself"),
    Rule("KS119", "node-name-set", _W, _C, _PODS, "pod.node_name_set"),
    Rule("KS120", "gates-left-on", _W, _C, _PODS, "pod.gates_left_on"),
    Rule("KS121", "tiny-quantity", _E, _C, _PODS, "pod.tiny_quantity"),
    Rule("KS122", "huge-cpu", _W, _C, _PODS, "pod.huge_cpu"),
    Rule("KS123", "init-dominates", _I, _C, _PODS, "pod.init_dominates"),
    Rule("KS124", "no-requests", _I, _C, _PODS, "pod.no_requests", on=False),
    Rule("KS125", "selects-one-host", _I, _C, _PODS, "pod.selects_one_host"),
    Rule("KS126", "dead-annotation", _W, _C, _PODS, "pod.dead_annotation"),
    Rule("KS127", "pod-annotation-on-workload", _W, _D, _PODS, "pod.pod_annotation_on_workload"),
    Rule("KS201", "rollout-needs-spare-domain", _W, _D, _PODS, "rollout.rollout_needs_spare_domain"),
    Rule("KS202", "rollout-needs-spare-node", _W, _D, _PODS, "rollout.rollout_needs_spare_node"),
    Rule("KS203", "daemonset-surge-host-port", _E, _D, _PODS, "rollout.daemonset_surge_host_port"),
    Rule("KS204", "rollout-attaches-twice", _W, _D, _PODS, "rollout.rollout_attaches_twice"),
    Rule("KS205", "rollout-deadlock-rwop", _E, _D, _PODS, "rollout.rollout_deadlock_rwop"),
    Rule("KS206", "claim-shared-by-replicas", _W, _C, _PODS, "rollout.claim_shared_by_replicas"),
    Rule("KS207", "more-replicas-than-domains", _E, _C, _PODS, "rollout.more_replicas_than_domains"),
    Rule("KS208", "rollout-exceeds-quota", _W, _D, _PODS, "rollout.rollout_exceeds_quota"),
    Rule("KS209", "job-cannot-run", _E, _C, _PODS, "rollout.job_cannot_run"),
    Rule("KS210", "no-spreading", _I, _C, _PODS, "rollout.no_spreading", on=False),
    Rule("KS211", "hpa-and-replicas", _I, _D, _PODS, "rollout.hpa_and_replicas", on=False),
    Rule("KS301", "budget-forbids-eviction", _W, _D, _PDB, "budget.budget_forbids_eviction"),
    Rule("KS302", "budget-forbids-at-minimum", _W, _D, _PDB, "budget.budget_forbids_at_minimum"),
    Rule("KS303", "budgets-overlap", _E, _D, _PDB, "budget.budgets_overlap"),
    Rule("KS304", "budget-selects-nobody", _W, _D, _PDB, "budget.budget_selects_nobody", on=False, if_complete=True),
    Rule("KS305", "budget-selects-everything", _W, _D, _PDB, "budget.budget_selects_everything"),
    Rule("KS306", "budget-without-threshold", _E, _D, _PDB, "budget.budget_without_threshold"),
    Rule("KS307", "budget-cannot-count", _W, _D, _PDB, "budget.budget_cannot_count"),
    Rule("KS308", "unhealthy-eviction-policy", _I, _D, _PDB, "budget.unhealthy_eviction_policy", on=False),
    Rule("KS309", "system-class-elsewhere", _I, _B, _PODS, "budget.system_class_elsewhere"),
    Rule("KS310", "priority-by-hand", _E, _B, _PODS, "budget.priority_by_hand"),
    Rule("KS311", "class-not-given", _W, _B, _PODS, "budget.class_not_given", on=False),
    Rule("KS312", "global-default", _I, _C, _PRIORITY_CLASS, "budget.global_default"),
    Rule("KS313", "below-autoscaler-cutoff", _I, _C, _PRIORITY_CLASS, "budget.below_autoscaler_cutoff"),
    Rule("KS401", "immediate-zonal", _W, _C, _STORAGE_CLASS, "volume.immediate_zonal"),
    Rule("KS402", "immediate-local", _W, _C, _STORAGE_CLASS, "volume.immediate_local"),
    Rule("KS403", "host-path-volume-unpinned", _I, _C, _PV, "volume.host_path_volume_unpinned"),
    Rule("KS404", "claim-and-volume-disagree", _E, _C, _PVC, "volume.claim_and_volume_disagree"),
    Rule("KS405", "claim-not-given", _W, _C, _PODS, "volume.claim_not_given", on=False),
    Rule("KS406", "removed-volume-plugin", _E, _C, _PODS, "volume.removed_volume_plugin"),
    Rule("KS501", "fits-no-empty-node", _E, _C, _PODS, "cluster.fits_no_empty_node", snapshot=True),
    Rule("KS502", "unschedulable-now", _W, _C, _PODS, "cluster.unschedulable_now", snapshot=True),
    Rule("KS503", "only-by-preemption", _W, _C, _PODS, "cluster.only_by_preemption", snapshot=True),
    Rule("KS504", "replicas-do-not-fit", _E, _C, _PODS, "cluster.replicas_do_not_fit", snapshot=True),
    Rule("KS505", "surge-does-not-fit", _W, _D, _PODS, "cluster.surge_does_not_fit", snapshot=True),
    Rule("KS506", "no-such-label", _E, _C, _PODS, "cluster.no_such_label", snapshot=True),
    Rule("KS507", "no-such-object", _E, _C, _PODS, "cluster.no_such_object", snapshot=True),
    Rule("KS508", "volume-zone-conflict", _E, _C, _PODS, "cluster.volume_zone_conflict", snapshot=True),
    Rule("KS509", "too-few-domains", _E, _C, _PODS, "cluster.too_few_domains", snapshot=True),
    Rule("KS510", "blocked-domain", _E, _C, _PODS, "cluster.blocked_domain", snapshot=True),
    Rule("KS511", "zone-loss", _W, _C, _PODS, "cluster.zone_loss", snapshot=True, on=False),
    Rule("KS512", "quota", _E, _B, _PODS, "cluster.quota", snapshot=True),
    Rule("KS513", "drain-impossible", _W, _D, _PDB, "cluster.drain_impossible", snapshot=True),
    Rule("KS514", "daemonset-without-nodes", _W, _C, _PODS, "cluster.daemonset_without_nodes", snapshot=True),
    Rule("KS601", "config-version-gone", _E, _C, _CONFIG, "scheduler.config_version_gone"),
    Rule("KS602", "unknown-plugin", _W, _C, _CONFIG, "scheduler.unknown_plugin"),
    Rule("KS603", "weight-without-effect", _W, _C, _CONFIG, "scheduler.weight_without_effect"),
    Rule("KS604", "filter-disabled", _W, _C, _CONFIG, "scheduler.filter_disabled"),
    Rule("KS605", "profiles-conflict", _E, _C, _CONFIG, "scheduler.profiles_conflict"),
    Rule("KS606", "default-constraints-ignored", _E, _C, _CONFIG, "scheduler.default_constraints_ignored"),
    Rule("KS607", "schedulername-unserved", _W, _C, _PODS, "scheduler.scheduler_name_unserved"),
    Rule("KS901", "not-yaml", _E, _A, About.FILE, "manifest.not_yaml"),
    Rule("KS902", "unrendered-template", _I, None, About.FILE, "manifest.unrendered_template"),
    Rule("KS903", "duplicate-key", _E, _A, About.OBJECT, "manifest.duplicate_key"),
    Rule("KS904", "misplaced-field", _E, _A, About.OBJECT, "manifest.misplaced_field"),
    Rule("KS905", "api-gone", _E, _A, About.OBJECT, "manifest.api_gone"),
    Rule("KS907", "pods-refused", _E, _B, _PODS, "manifest.pods_refused"),
    Rule("KS908", "partial", _I, None, About.OBJECT, "manifest.partial", counted=True),
    Rule("KS909", "live", _I, None, About.OBJECT, "manifest.live", counted=True),
    Rule("KS910", "unused-ignore", _W, None, About.IGNORES, "manifest.unused_ignore"),
    Rule("KS911", "ignore-without-reason", _W, None, About.IGNORES, "manifest.ignore_without_reason", on=False),
)
