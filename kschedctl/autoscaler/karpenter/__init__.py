"""Karpenter's provisioner (sigs.k8s.io/karpenter v1.15, pkg/controllers/provisioning): one round over a cluster."""
