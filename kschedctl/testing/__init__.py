"""Test tools for authors of plugins: checks of the contract of plugins over sample clusters.

``conformance/README.md`` describes the comparison of results with kube-scheduler.
"""
