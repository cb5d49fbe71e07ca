"""What a pipeline means: one plan, and the driver that defines it."""
