"""Which operators are computed together: the analysis behind FuseOps.

Three steps, each a file: the data flow from values to users, who post-dominates whom,
and the groups that follow.
"""

from parpass.relay.transform.fusion.forward_graph import ForwardGraph
from parpass.relay.transform.fusion.groups import Groups, fusion_groups

__all__ = ["ForwardGraph", "Groups", "fusion_groups"]
