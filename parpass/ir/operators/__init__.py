"""The operators of every IR: the table, their attributes and effects."""
