"""Ways to a robot: the protocol in base.py, and one file for each kind of link."""
