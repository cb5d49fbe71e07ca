"""The subcommands, a file each, what they share, and the table of them."""
