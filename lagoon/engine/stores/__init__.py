"""Parameter stores that several processes or machines share."""
