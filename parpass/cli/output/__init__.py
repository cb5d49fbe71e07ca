"""The output of the command: failures, tables, progress."""
