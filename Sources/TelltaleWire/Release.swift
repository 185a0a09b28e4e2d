/// The release that this package is.
///
/// The version stands here and nowhere else: the greeting tells it as `server=`, and each program as `--version`.
public enum Release {
    /// As Semantic Versioning has it. It is the newest version in CHANGELOG.md.
    public static let version = "0.1.0"
}
