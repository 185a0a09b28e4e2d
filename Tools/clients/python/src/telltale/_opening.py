"""The first line of a server, and the last one."""

from typing import Optional, Tuple

from ._lines import Line
from .errors import ProtocolViolation
from .values import Greeting

USUAL_HEARTBEAT = 20.0
USUAL_MAX_LINE = 65536
LONGEST_WAIT = 3600.0


def greeting(line: Line) -> Greeting:
    attributes = line.attributes
    epoch = attributes.get("epoch")
    if epoch is None:
        raise ProtocolViolation("it greets without epoch=")
    heartbeat, max_line = line.number("hb"), line.number("max_line")
    try:
        speed = float(attributes.get("speed", "1"))
    except ValueError:
        speed = 1.0
    return Greeting(
        epoch=epoch,
        now=line.number("now"),
        speed=speed if 0 < speed < float("inf") else 1.0,
        heartbeat=heartbeat / 1000 if heartbeat else USUAL_HEARTBEAT,
        max_line=max_line or USUAL_MAX_LINE,
        auth=attributes.get("auth", "none"),
        server=attributes.get("server", "-"),
        node=attributes.get("node"),
        role=attributes.get("role"),
        term=line.number("term"),
        leader=attributes.get("leader"),
        serves=attributes.get("serves") == "1",
        to=attributes.get("to"),
    )


def farewell_wait(text: Optional[str]) -> Optional[Tuple[float, float]]:
    """`LOW-HIGH` in milliseconds, as seconds; an hour at most."""
    low, dash, high = (text or "").partition("-")
    if not (dash and low.isascii() and low.isdigit() and high.isascii() and high.isdigit()):
        return None
    first, last = min(int(low[:10]) / 1000, LONGEST_WAIT), min(int(high[:10]) / 1000, LONGEST_WAIT)
    return (first, last) if first <= last else None
