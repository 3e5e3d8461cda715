"""KS9xx: rules about the manifests as such, before their content is checked."""
