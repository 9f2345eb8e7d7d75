"""Where the processes of a run are started."""
