"""What passes say: diagnostics, counters, logs, warnings, output."""
