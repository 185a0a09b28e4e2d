"""A slow link between two network namespaces, for Tools/measure-slow-link."""
