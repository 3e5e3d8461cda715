"""InterPodAffinity: places pods near or far from other pods."""
