"""A module of the program that no pass is from, with a variable to follow."""

level = 0
