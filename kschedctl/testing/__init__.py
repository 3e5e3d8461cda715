"""For people who write plugins: a contract that every plugin must keep, checked over sample clusters.

Comparisons with the answers of kube-scheduler are described in ``conformance/README.md``.
"""
