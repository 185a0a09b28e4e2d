internal import TelltaleModel

extension String {
    /// Columns that a terminal takes for it.
    var displayWidth: Int { reduce(0) { $0 + $1.displayWidth } }
}
