"""Sources of evidence: what other components say and do about an object, one module for each source."""
