"""What goes between the processes: functions, values, settings, errors, notes."""
