"""Answers for the pending pods of a running cluster, reported again whenever they change.

A cache follows the cluster. The last answer of each pod is remembered, and only the leader of several replicas reports.
"""
