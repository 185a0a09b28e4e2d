internal import Kinds
public import TelltaleModel
internal import TelltaleStatechart

/// The picture of a kind's machine.
public enum KindDiagram {
    /// SVG without styles, which the board's page provides.
    ///
    /// It takes a tenth of a second at most: a larger machine is refused.
    ///
    /// - Parameter definition: A kind as the daemon has it.
    /// - Throws: `not_found` for a control and for a widget, `too_complex`.
    public static func svg(of definition: JSON) throws(Problem) -> String {
        guard let kind = Kind.read(journaled: definition) else {
            throw Problem("version_unsupported", "the daemon's definition of this kind cannot be read by this gateway")
        }
        return try svg(of: kind)
    }

    static func svg(of kind: Kind) throws(Problem) -> String {
        guard case .activity(let activity) = kind.body else {
            throw Problem("not_found", "\(kind.name) is no activity: it has no machine to draw")
        }
        let limits = Diagram.Limits.interactive
        // Checked before the drawing is made, because that takes long for thousands of states.
        guard activity.statechart.states.count <= limits.states, let drawing = MachineDrawing(kind),
            let diagram = Diagram(drawing, limits: limits)
        else {
            throw Problem(
                "too_complex",
                "the machine of \(kind.name) is too large to be drawn here (\(limits.states) states, \(limits.transitions) transitions"
                    + " that reach not too far); telltale kinds draw FILE --format svg draws larger ones")
        }
        return diagram.svg(isStandalone: false)
    }
}
