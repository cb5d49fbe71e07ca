"""Operations that several subcommands share, and that of `parpass opt`."""
