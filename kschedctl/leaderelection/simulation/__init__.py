"""Elections on a virtual clock, with candidates that crash, networks that break and clocks that run wrong."""
