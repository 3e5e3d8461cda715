"""Makes what package managers and shells need from a release that is built: ``make packaging``."""
