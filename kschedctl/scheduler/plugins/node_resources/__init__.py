"""NodeResourcesFit and NodeResourcesBalancedAllocation, with the arithmetic they share."""
