import TelltaleCrypto
import Testing

/// Against the vectors of the standards.
struct CryptoTests {
    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = hexadecimal.filter { !$0.isWhitespace }.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    @Test func `SHA-256 of FIPS 180-4, in one part and in several`() {
        let abc = Self.bytes("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(SHA256.digest(of: "abc".utf8) == abc)
        #expect(SHA256.digest(of: []) == Self.bytes("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"))
        var hash = SHA256()
        hash.update("a".utf8)
        let begun = hash
        hash.update("bc".utf8)
        #expect(hash.digest() == abc && hash.digest() == abc)
        #expect(begun.digest() == SHA256.digest(of: "a".utf8))
    }

    @Test func `HMAC of RFC 4231, with a short key and with one longer than a block`() {
        let short = MessageCode.code(of: "what do ya want for nothing?".utf8, key: Array("Jefe".utf8))
        #expect(short == Self.bytes("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"))
        let long = [UInt8](repeating: 0xaa, count: 131)
        var code = MessageCode(key: long)
        code.update("Test Using Larger Than Block-Size Key ".utf8)
        code.update("- Hash Key First".utf8)
        let expected = Self.bytes("60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
        #expect(code.code() == expected)
        #expect(
            code.matches(expected) && !code.matches(expected.dropLast())
                && !code.matches([UInt8](repeating: 0, count: 32)))
    }

    @Test func `HKDF of RFC 5869`() {
        let input = [UInt8](repeating: 0x0b, count: 22)
        let derived = MessageCode.derivedKey(
            from: input, salt: Array(0x00...0x0c), info: Array(0xf0...0xf9), count: 42)
        #expect(
            derived
                == Self.bytes(
                    "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"))
        #expect(
            MessageCode.derivedKey(from: input, salt: [], info: [], count: 42)
                == Self.bytes(
                    "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"))
    }

    @Test func `AES-GCM of NIST, and nothing that was changed opens`() {
        let key = [UInt8](repeating: 0, count: 16)
        let nonce = [UInt8](repeating: 0, count: 12)
        let sealed = SealedBytes.seal([UInt8](repeating: 0, count: 16), key: key, nonce: nonce)
        #expect(sealed == Self.bytes("0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf"))
        #expect(SealedBytes.open(sealed, key: key, nonce: nonce) == [UInt8](repeating: 0, count: 16))
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(SealedBytes.open(changed, key: key, nonce: nonce) == nil)
        }
        for count in 0..<16 { #expect(SealedBytes.open(Array(sealed.prefix(count)), key: key, nonce: nonce) == nil) }
        #expect(SealedBytes.seal([], key: key, nonce: nonce) == Self.bytes("58e2fccefa7e3061367f1d57a4e7455a"))
        let long = SealedBytes.random(32)
        #expect(SealedBytes.open(SealedBytes.seal([7], key: long, nonce: nonce), key: long, nonce: nonce) == [7])
        #expect(SealedBytes.open(SealedBytes.seal([7], key: long, nonce: nonce), key: key, nonce: nonce) == nil)
    }

    @Test func `keys sign, verify and agree, and what is no key is refused`() throws {
        let key = try P256Key.generate()
        let signature = try key.signature(of: [1, 2, 3])
        let other = try P256Key.publicKey(point: key.publicPoint)
        #expect(other.isValid(signature, of: [1, 2, 3]) && !other.isValid(signature, of: [1, 2]))
        #expect(!other.isValid(signature.dropLast() + [signature[63] ^ 1], of: [1, 2, 3]))
        #expect(!other.isValid([], of: [1, 2, 3]) && !other.isValid([UInt8](repeating: 0, count: 64), of: [1, 2, 3]))
        let peer = try P256Key.generate()
        #expect(
            try key.sharedSecret(with: P256Key.publicKey(point: peer.publicPoint)) == peer.sharedSecret(with: other))
        #expect(throws: P256Key.Fault.self) { try other.signature(of: []) }
        #expect(throws: P256Key.Fault.self) { try other.sharedSecret(with: key) }
        #expect(throws: P256Key.Fault.self) { try P256Key.publicKey(point: [UInt8](repeating: 4, count: 65)) }
        #expect(throws: P256Key.Fault.self) { try P256Key.publicKey(point: []) }
    }

    /// ECDSA and the curve of RFC 6979, A.2.5: its key in PEM, and its signature of "sample".
    @Test func `keys are read from PEM`() throws {
        let point = Self.bytes(
            """
            04 60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6
            7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299
            """)
        let signature = Self.bytes(
            """
            EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716
            F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8
            """)
        #expect(try P256Key.publicKey(point: point).isValid(signature, of: Array("sample".utf8)))
        let pem = """
            -----BEGIN PUBLIC KEY-----
            MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEYP7UuiVanTHJYet0xjVtaMBJuJI7
            Yfps5mliLmDyn7Z5A/4QCLi8maQa6elWKLxk8vGyDC1+n1F3o8KU1EYimQ==
            -----END PUBLIC KEY-----
            """
        let private8 = """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgya+p2EW6dRZrXCFX
            Z7HWk05Qw9s26JsSe4piKxIPZyGhRANCAARg/tS6JVqdMclh63TGNW1owEm4kjth
            +mzmaWIuYPKftnkD/hAIuLyZpBrp6VYovGTy8bIMLX6fUXejwpTURiKZ
            -----END PRIVATE KEY-----
            """
        let private1 = """
            -----BEGIN EC PRIVATE KEY-----
            MHcCAQEEIMmvqdhFunUWa1whV2ex1pNOUMPbNuibEnuKYisSD2choAoGCCqGSM49
            AwEHoUQDQgAEYP7UuiVanTHJYet0xjVtaMBJuJI7Yfps5mliLmDyn7Z5A/4QCLi8
            maQa6elWKLxk8vGyDC1+n1F3o8KU1EYimQ==
            -----END EC PRIVATE KEY-----
            """
        let otherCurve = """
            -----BEGIN PUBLIC KEY-----
            MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEj9lohmZcOzJfkDUXhPpNgAH1vizROL7t
            bt3PA+EAanzQjYZN+aBBGFBf/AylEErBy7OrozKbJlgaKbQlySliIhuA3fmvFZsW
            rn+vJ0HRYL88wnw9g96UO5w0bseXiaiO
            -----END PUBLIC KEY-----
            """
        #expect(try P256Key.publicKey(pem: pem).publicPoint == point)
        for text in [private8, private1] {
            let key = try P256Key.privateKey(pem: text)
            #expect(key.publicPoint == point)
            #expect(try P256Key.publicKey(pem: pem).isValid(key.signature(of: [9]), of: [9]))
        }
        for text in ["", otherCurve, "-----BEGIN PUBLIC KEY-----", pem.replacing("M", with: "N")] {
            #expect(throws: P256Key.Fault.self) { try P256Key.publicKey(pem: text) }
            #expect(throws: P256Key.Fault.self) { try P256Key.privateKey(pem: text) }
        }
    }
}
