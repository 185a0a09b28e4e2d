/// The release of this package.
///
/// This is the only place of the version. The greeting reports it as `server=`, and each program with `--version`.
public enum Release {
    /// Follows Semantic Versioning. Equals the newest version in CHANGELOG.md.
    public static let version = "0.1.0"
}
