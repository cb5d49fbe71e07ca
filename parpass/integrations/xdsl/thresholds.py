"""The size from which workers pay off for a program; it loads nothing else."""

# Bytes, which take half a second to be parsed and verified. Workers are started at once
# for such a program.
LARGE_PROGRAM = 80_000
