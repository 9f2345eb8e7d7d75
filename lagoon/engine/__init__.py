"""The reinforcement-learning engine: workers, streams, trajectories and PPO; it knows no robots and no motions."""
