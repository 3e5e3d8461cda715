"""Suggestions for pending pods: changes proposed by rejection reasons, each proven by deciding for the pod again."""
