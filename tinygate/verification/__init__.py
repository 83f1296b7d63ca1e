"""Run a plan of many cases and judge them in one Report, in the host process, without numpy."""
