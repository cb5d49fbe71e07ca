"""Interprocess communication: functions, blobs, exceptions, status slots."""
