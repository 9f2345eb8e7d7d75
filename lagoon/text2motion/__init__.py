"""Words to human motion: dataset, sentence encoder, generator, command gate, training."""
