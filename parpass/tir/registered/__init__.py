"""Loop programs as the base of IRs knows them."""
