public import TelltaleModel

/// The previews of a kind of widget, as a gallery shows them.
public enum Gallery {
    /// The previews beside each other, each under the name of its family.
    ///
    /// - Parameters:
    ///   - previews: Rows from `GALLERY`.
    ///   - width: The most columns to use.
    public static func draw(_ previews: [JSONObject], at now: Timestamp, width: Int) -> Block {
        let blocks = previews.map { preview -> Block in
            let family = preview["presentation"]?.string ?? ""
            let isWide = ["systemMedium", "systemLarge", "systemExtraLarge"].contains(family)
            let card = Card(key: family, body: preview).widget(width: min(isWide ? 44 : 28, width), at: now)
            return Block.above([Block([Line(family.harmless, .dim)], width: card.width), card])
        }
        return Block.flowing(blocks, width: width)
    }
}
