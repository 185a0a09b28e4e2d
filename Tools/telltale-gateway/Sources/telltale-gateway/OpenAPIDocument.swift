internal import CGatewayFiles

/// Protocols/HTTP/openapi.json, as it was when this program was built.
enum OpenAPIDocument {
    static let bytes: [UInt8] = {
        let file = telltale_gateway_openapi()
        return Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
    }()
}
