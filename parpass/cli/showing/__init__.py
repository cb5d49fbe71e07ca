"""What the command shows: failures, tables, progress."""
