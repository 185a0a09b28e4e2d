"""The decoder, byte by byte."""

import pytest

from support import behaviour
from telltale._lines import Line, LineDecoder
from telltale.errors import ProtocolViolation
from transcripts import FOLDER, Filler, read

TRANSCRIPTS = read() if FOLDER.exists() else {}


@behaviour("any-cut")
@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_every_split_of_every_line_gives_the_same(name: str) -> None:
    filler, seen = Filler(), set()
    for step in TRANSCRIPTS[name]:
        text = filler.fill(step.text)
        # Lines of one shape are cut once.
        shape = "".join("0" if character.isdigit() else character for character in text)
        if step.speaker != "S" or step.text.startswith("<") or shape in seen:
            continue
        seen.add(shape)
        data = (text + "\r\n").encode()
        whole = list(LineDecoder().feed(data))
        assert whole == [Line.parse(text)], step.place
        for cut in range(len(data) + 1):
            decoder = LineDecoder()
            pieces = list(decoder.feed(data[:cut])) + list(decoder.feed(data[cut:]))
            assert pieces == whole, f"{step.place}, cut at {cut}"


@behaviour("any-cut")
def test_single_bytes_and_several_lines_in_a_piece() -> None:
    data = 'OK id=1\r\n\nUPD sub=1 key=a/b rev=2 {"title":"Zürich ☕"}\n# help\nPONG'.encode()
    whole = list(LineDecoder().feed(data))
    assert [line.verb for line in whole] == ["OK", "UPD", "#"]
    decoder = LineDecoder()
    assert [line for byte in data for line in decoder.feed(bytes([byte]))] == whole


@behaviour("torn-line")
def test_an_unfinished_line_is_not_told() -> None:
    decoder = LineDecoder()
    assert list(decoder.feed(b"OK id=1 verdict=applied")) == []
    assert [line.attributes["verdict"] for line in decoder.feed(b"\n")] == ["applied"]


@pytest.mark.parametrize(
    "data, problem",
    [
        (b"OK \x00\n", "control byte"),
        (b"OK\tid=1\n", "control byte"),
        (b"OK \xff\n", "UTF-8"),
        (b"OK {\n", "JSON"),
        (b'OK {"a":NaN}\n', "JSON"),
        (b"OK " + b"{" * 5000 + b"\n", "JSON"),
        (b'OK {"a":1}x\n', "JSON"),
        (b"HTTP/1.1 400 Bad Request\n", "without a verb"),
        (b"ok\n", "without a verb"),
        (b"x" * 101 + b"\n", "more than 100 bytes"),
        (b"x" * 101, "more than 100 bytes"),
    ],
)
def test_what_is_no_line_is_told_behind_the_good_ones(data: bytes, problem: str) -> None:
    lines = []
    with pytest.raises(ProtocolViolation, match=problem):
        for line in LineDecoder(100 if b"x" * 101 in data else 1 << 20).feed(b"PONG\n" + data):
            lines.append(line.verb)
    assert lines == ["PONG"]
