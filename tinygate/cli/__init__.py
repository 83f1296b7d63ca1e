"""Run the command line in the host process; each command has its own file."""
