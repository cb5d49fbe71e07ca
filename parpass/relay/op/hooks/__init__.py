"""What users register for operators, by the pass that asks for it."""
