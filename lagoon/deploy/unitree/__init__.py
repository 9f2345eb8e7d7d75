"""The Unitree Go2's own interface: rt/lowcmd and rt/lowstate over DDS."""
