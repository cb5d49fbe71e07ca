"""What operators are declared with: builders, attributes, relations, layouts."""
