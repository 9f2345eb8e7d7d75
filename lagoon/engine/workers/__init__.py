"""The nodes of the worker graph: who acts and who learns."""
