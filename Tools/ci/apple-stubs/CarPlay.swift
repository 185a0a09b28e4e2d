// A stand-in for Apple's framework, with the declarations that the examples of the guide use. Nothing is executed.

@MainActor open class UIResponder {
    public init() {}
}
@MainActor public protocol CPTemplateApplicationSceneDelegate: AnyObject {}
@MainActor public final class CPTemplateApplicationScene {}
@MainActor public class CPTemplate {}
@MainActor public final class CPInterfaceController {
    public func setRootTemplate(_ template: CPTemplate, animated: Bool, completion: ((Bool, (any Error)?) -> Void)?) {}
}
@MainActor public final class CPListItem {
    public var isEnabled = true
    public var handler: ((CPListItem, @escaping @Sendable () -> Void) -> Void)?
    public init(text: String?, detailText: String?) {}
}
@MainActor public final class CPListSection {
    public init(items: [CPListItem]) {}
}
@MainActor public final class CPListTemplate: CPTemplate {
    public var emptyViewTitleVariants: [String] = []
    public init(title: String?, sections: [CPListSection]) {}
    public func updateSections(_ sections: [CPListSection]) {}
}
