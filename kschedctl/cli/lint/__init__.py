"""``kschedctl lint``: problems in manifests before they are applied."""
