"""What texts of all IRs here are made of: tokens, names, literals, types, errors."""
