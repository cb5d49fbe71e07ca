"""Captured output of passes: diagnostics, counters, log records and warnings."""
