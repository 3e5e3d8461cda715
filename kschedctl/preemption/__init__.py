"""Preemption: which nodes could be made room on, whom that would cost, and which node is taken.

The stages are kube-scheduler's own, each in the module of its name; ``evaluator`` runs them in this order. All nodes go
through a stage together.

======================================  =============================================================================
``pod_eligible_to_preempt_others``      may the pod evict at all
``potential_nodes``                     node statuses -> rows of the nodes on which removing pods may help
``dry_run_preemption``                  rows -> candidates with their victims, and what became of the other rows
``select_victims_on_node``              rows -> pods in worlds: remove all of lower priority, then spare one by one
``budgets``                             pods in worlds -> which of these entries would break a disruption budget
``select_candidate``                    candidates with their victims -> which candidates are left at the end
``prepare_candidate``                   the node taken -> pods that lose their nomination to it
``shortlist``                           where kube-scheduler stops the dry run, which here goes over all nodes
======================================  =============================================================================

A world is about one node: world ``w`` of a list of rows is the snapshot in which the node ``rows[w]`` lost some pods
and nothing else is different. A candidate is a world that is left at the end. An entry is a pod in a world: a victim,
at first of every pod of lower priority.
"""
