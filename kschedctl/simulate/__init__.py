"""Many pods, one after another: the queue, the loop around scheduling cycles and what follows, in virtual time."""
