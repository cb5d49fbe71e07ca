"""What the subcommands do, apart from reading their arguments."""
