"""The scheduling framework: extension points, cycle state, releases, profiles and the plugins' registry."""
