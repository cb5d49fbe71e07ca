"""The worker process: main loop, jobs, stages and metering."""
