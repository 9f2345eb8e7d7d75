"""Motion Diffusion Model (Tevet et al. 2022) from a checkpoint that the user has: reading, sampling, decoding."""
