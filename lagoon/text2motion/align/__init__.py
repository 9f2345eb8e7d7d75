"""Fine-tuning of the generator on what the words ask for and on what a robot can do."""
