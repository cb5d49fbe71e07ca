"""What the executors on clusters have in common: Dask's and Ray's.

An executor here has one host process on each machine, which runs jobs in child
processes, and a `Connection` that starts the hosts or finds them, calls functions on
them and hears of their deaths. All else is the same whatever the cluster is.
"""
