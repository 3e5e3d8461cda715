"""Preemption: which nodes could be made room on, whom that would cost, and which node is taken."""
