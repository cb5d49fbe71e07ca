"""The size of programs that workers pay for; it loads nothing, for a quick start."""

# Characters, which take half a second to be read and verified: workers are started at
# once for a program that has as many.
LARGE_PROGRAM = 80_000
