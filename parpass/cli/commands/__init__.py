"""The subcommands, a file each, and the topics of `parpass explain`."""
