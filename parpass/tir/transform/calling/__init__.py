"""What a function that is called from outside does first: arguments, checks."""
