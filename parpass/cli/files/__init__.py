"""What the command reads and writes."""
