# MuJoCo's names live in compiled modules that pyright cannot look into; this says: believe every one of them.
from typing import Any

def __getattr__(name: str) -> Any: ...
