"""The options of subcommands: how they are declared, and those that several share."""
