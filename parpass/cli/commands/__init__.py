"""The subcommands, a file each, and what they share: options, completion, listings."""
