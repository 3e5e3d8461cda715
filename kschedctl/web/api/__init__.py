"""The JSON API below ``/api/v1``."""
