"""The common part of the executors on clusters, Dask and Ray.

An executor here has one host process on each machine, which runs jobs in child
processes, and a `Connection` that starts the hosts or finds them, calls functions on
them and reports their deaths. All else is the same whatever the cluster is.
"""
