/// Protocols/HTTP/openapi.json, as it was when this program was built.
enum OpenAPIDocument {
    static let bytes: [UInt8] = PackageResources.openapi_json
}
