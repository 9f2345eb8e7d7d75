"""Reinforcement learning of generators: sequences of tokens, drawn step by step, judged as a whole."""
