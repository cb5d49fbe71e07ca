"""The plan of a pipeline, which defines its meaning, and the serial driver."""
