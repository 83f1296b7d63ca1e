"""Turn a plan of many cases into one Report. Runs in the host process, without numpy."""
