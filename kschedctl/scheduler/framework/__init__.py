"""The scheduling framework: extension points, cycle state, profiles and the plugin registry."""
