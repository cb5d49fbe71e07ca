"""The state of the program that workers take over: settings, modules, entries."""
