"""The parts of Tools/fuzz/translate-scxml."""
