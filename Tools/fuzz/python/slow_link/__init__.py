"""A slow link between two network namespaces, for Tools/bench/measure-slow-link."""
