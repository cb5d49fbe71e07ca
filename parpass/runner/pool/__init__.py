"""The worker pool: scheduler, coordinator, executor and the processes of workers."""
