// A stand-in for Apple's framework, with the declarations that the examples of the guide use. Nothing is executed.

@_exported import Observation

@MainActor public protocol View {}
@MainActor public protocol Scene {}
@MainActor public protocol App {
    associatedtype Body: Scene
    var body: Body { get }
    init()
}
extension App {
    public static func main() {}
}

@resultBuilder public enum ViewBuilder {
    public static func buildBlock<each Content: View>(_ content: repeat each Content) -> Group<(repeat each Content)> {
        Group()
    }
    public static func buildOptional<Content: View>(_ content: Content?) -> Group<Content> { Group() }
}
public struct Group<Content>: View {
    nonisolated init() {}
}

@MainActor @propertyWrapper public struct State<Value> {
    public var wrappedValue: Value
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
}

public struct WindowGroup: Scene {
    public init<Content: View>(@ViewBuilder content: () -> Content) {}
}
public struct MenuBarExtra: Scene {
    public init<Content: View>(_ title: String, systemImage: String, @ViewBuilder content: () -> Content) {}
}
public struct List: View {
    public init<Element, ID: Hashable, Content: View>(
        _ data: [Element], id: KeyPath<Element, ID>, @ViewBuilder content: (Element) -> Content
    ) {}
}
public struct ForEach: View {
    public init<Element, ID: Hashable, Content: View>(
        _ data: [Element], id: KeyPath<Element, ID>, @ViewBuilder content: (Element) -> Content
    ) {}
}
public struct Text: View {
    public init(_ text: String) {}
}
public struct ProgressView: View {
    public init(value: Double) {}
}
public struct Button: View {
    public init(_ title: String, action: @escaping @MainActor () -> Void) {}
}
public enum HorizontalAlignment { case leading }
public struct VStack: View {
    public init<Content: View>(alignment: HorizontalAlignment, @ViewBuilder content: () -> Content) {}
}
extension View {
    public func opacity(_ value: Double) -> Self { self }
    public func disabled(_ isDisabled: Bool) -> Self { self }
    public func task(_ action: @escaping @MainActor () async -> Void) -> Self { self }
}

// Of Foundation, which SwiftUI exports. On Linux it has no URLSession.bytes.
public struct URL: Sendable {
    public init?(string: String) {}
}
public struct URLRequest: Sendable {
    public init(url: URL) {}
    public mutating func setValue(_ value: String?, forHTTPHeaderField field: String) {}
}
public final class URLSession: Sendable {
    public static let shared = URLSession()
    public struct AsyncBytes: Sendable {
        public var lines: AsyncThrowingStream<String, any Error> { AsyncThrowingStream { _ in } }
    }
    public func bytes(for request: URLRequest) async throws -> (AsyncBytes, Int) { (AsyncBytes(), 0) }
}
