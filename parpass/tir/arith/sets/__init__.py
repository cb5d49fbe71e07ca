"""Sets of ints whose ends are expressions, and what arithmetic makes of them."""
