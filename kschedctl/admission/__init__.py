"""What an API server does to a new pod before the scheduler sees it."""
