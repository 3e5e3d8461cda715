"""``kschedctl lint``: what is wrong in manifests before they are applied."""
