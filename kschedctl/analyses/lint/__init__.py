"""What is wrong in manifests, as an answer."""
