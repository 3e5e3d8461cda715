"""The API server's admission plugins, applied to a new pod before the scheduler sees it."""
