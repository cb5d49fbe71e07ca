"""The function cache: results of passes on functions, kept from one run to the next."""
