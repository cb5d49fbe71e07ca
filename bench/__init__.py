"""How fast parpass is, against what the machine could do and against its peers.

`python -m bench` measures all rows; see `bench.__main__`. A row is what somebody would
ask about; each is measured in a process of its own, by a file in `bench/rows`.
"""
