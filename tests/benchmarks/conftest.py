import sys
from pathlib import Path

# The benchmarks are scripts; their modules are found as they find one another.
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "engine"))
