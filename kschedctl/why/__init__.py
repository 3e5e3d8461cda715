"""What would have to change: remedies that reasons propose, each proven by deciding again; pods that wait, by cause."""
