"""Motion files of other programs to HumanMotion: formats, guesses that are said aloud, repairs with names."""
