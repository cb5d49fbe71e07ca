"""The metrics of a run, its report, and recommendations."""
