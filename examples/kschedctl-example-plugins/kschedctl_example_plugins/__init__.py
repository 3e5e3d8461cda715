"""Two example plugins for kschedctl, as templates for your own."""
