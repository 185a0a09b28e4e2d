"""The board's files over HTTP. How they look is tested in a browser."""

import gzip
import re

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def test_the_page_is_one_and_keeps_to_itself(gateway):
    for path in ["/", "/login", "/kinds", "/kinds/coffee-order", "/coffee-order/7", "/no-kind/at%20all"]:
        page = gateway.get(path, headers=HTML)
        assert page.status == 200 and page.headers["content-type"].startswith("text/html"), path
        policy = page.headers["content-security-policy"].split("; ")
        assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy and "object-src 'none'" in policy
        assert page.headers["cache-control"] == "no-cache" and page.headers["x-content-type-options"] == "nosniff"
        again = gateway.get(path, headers=HTML | {"If-None-Match": page.headers["etag"]})
        assert again.status == 304 and again.bytes == b"" and again.headers["etag"] == page.headers["etag"]
    assert "<script>" not in page.text and "style=" not in page.text


def test_files_are_compressed_and_kept(gateway):
    page = gateway.get("/", headers=HTML).text
    for path in re.findall(r'"(/assets/[^"]+)"', page):
        plain = gateway.get(path)
        assert plain.status == 200 and "content-encoding" not in plain.headers
        assert plain.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert plain.headers["vary"].split(", ")[0] == "Accept-Encoding"
        packed = gateway.get(path, headers={"Accept-Encoding": "gzip, br"})
        if len(plain.bytes) > 1_000:
            assert packed.headers["content-encoding"] == "gzip" and gzip.decompress(packed.bytes) == plain.bytes
            # A strong tag names one sequence of bytes.
            assert packed.headers["etag"] != plain.headers["etag"]
            for tag, status in [(packed.headers["etag"], 304), (plain.headers["etag"], 200)]:
                assert gateway.get(path, headers={"Accept-Encoding": "gzip", "If-None-Match": tag}).status == status
        assert gateway.get(path, headers={"If-None-Match": plain.headers["etag"]}).status == 304
        assert gateway.ask("HEAD", path).bytes == b""


def test_a_file_of_another_version_is_not_kept(gateway):
    answer = gateway.get("/assets/000000000000/dom.js")
    assert answer.status == 200 and answer.headers["cache-control"] == "no-cache"
    assert gateway.get("/assets/000000000000/nothing.js").code == "not_found"
    assert gateway.get("/assets/000000000000/..%2Fdom.js").code == "bad_key"


def test_programs_are_told_where_the_entity_is(gateway):
    answer = gateway.get("/coffee-order/7", headers={"Accept": "application/json"})
    assert answer.code == "not_acceptable" and "/v1/entities/coffee-order/7" in answer.json["title"]
    assert gateway.ask("POST", "/coffee-order/7", "{}", HTML).code == "method"


def test_no_other_host_gets_the_page(gateway):
    assert gateway.get("/", headers=HTML | {"Host": "evil.example.com"}).code == "wrong_host"
