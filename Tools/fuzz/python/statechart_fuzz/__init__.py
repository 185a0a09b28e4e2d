"""The parts of Tools/fuzz/statechart."""
