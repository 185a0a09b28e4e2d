"""The parts of Tools/fuzz/torture."""
