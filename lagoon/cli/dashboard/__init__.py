"""What a training looks like while it runs: its numbers read from its files, drawn in the terminal."""
