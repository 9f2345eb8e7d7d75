"""Entry points for ``ros2 run``; the node is in lagoon.deploy.ros."""
