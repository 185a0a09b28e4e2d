"""Parts of Tools/fuzz/lines: lines from a seed, conversations with a daemon, and the shrinking of one that fails."""
