"""Interprocess communication: functions, blobs, settings, exceptions, status slots."""
