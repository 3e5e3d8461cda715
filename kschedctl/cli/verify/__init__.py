"""``kschedctl verify``: our answers beside what kube-scheduler did."""
