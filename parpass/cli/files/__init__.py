"""The input and output files of the command."""
