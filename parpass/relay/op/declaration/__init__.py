"""Declaration of operators: builders, attributes, type relations, layouts."""
