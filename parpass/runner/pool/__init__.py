"""The workers, as the process sees them that they work for."""
