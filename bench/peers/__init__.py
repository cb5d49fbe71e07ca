"""What parpass is compared with: each peer as its users would use it."""
