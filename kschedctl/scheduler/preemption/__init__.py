"""Preemption: find the nodes on which evictions let the pod fit, the victims there, and the node to nominate.

The stages are kube-scheduler's; most functions have its names. ``evaluator`` runs them in this order. All nodes pass
through a stage together.

======================================  =============================================================================
``pod_eligible_to_preempt_others``      pod -> the reason why it may not preempt, or none
``potential_nodes``                     node statuses -> rows of the nodes on which removing pods may help
``dry_run_preemption``                  rows -> candidates with their victims, and the outcome on the other rows
``select_victims_on_node``              rows -> pods in worlds: remove all of lower priority, then reprieve one by one
``violated_budgets``                    pods in worlds -> the entries whose eviction violates a disruption budget
``pick_one_node_for_preemption``        candidates with their victims -> the best candidates
``lower_priority_nominated_pods``       the nominated node -> pods that lose their nomination to it
``truncate_dry_run``                    the point at which kube-scheduler stops the dry run, which here covers all nodes
======================================  =============================================================================

A world is a hypothetical state of one node: world ``w`` of a list of rows is the snapshot in which the node ``rows[w]``
lost some pods and nothing else differs. A candidate is a world that remains after the last stage. An entry is a pod in
a world, that is, a victim. At first, every pod of lower priority is an entry.
"""
