"""Other learning libraries on lagoon's environment, one small adapter each; see ``bench_peers.py``."""
