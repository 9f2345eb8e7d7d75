"""Robot motion to policy: environment, rewards, randomization, training, export."""
