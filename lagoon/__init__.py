"""lagoon: type a command, get a skill that a real quadruped can run.

A command becomes a HumanMotion, becomes a RobotMotion, becomes a Policy, becomes a PolicyBundle,
and a robot runs it. Each arrow is one package, each noun is one dataclass and one file on disk.
"""

__version__ = "0.1.0"
