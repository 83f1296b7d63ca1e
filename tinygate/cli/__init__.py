"""Turn command lines into exit codes: one file per command. Runs in the host process."""
