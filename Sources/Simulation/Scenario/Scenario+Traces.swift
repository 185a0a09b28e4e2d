import Recordings
import TelltaleModel

extension Scenario {
    /// Reads the trace files that the scenario names.
    ///
    /// - Parameter bytes: Returns the bytes of a file, by the name that the scenario gives it.
    public mutating func readTraces(_ bytes: (String) throws -> [UInt8]) throws {
        if let trace = setting.trace {
            var plan: ReplayPlan
            let file = try bytes(trace.name)
            do throws(TraceError) {
                plan = try ReplayPlan(Trace(csv: file).first(trace.cases ?? .max), kind: trace.kind ?? "")
            } catch {
                throw Fault(at: trace.path, "names \(trace.name): \(error)")
            }
            if let span = trace.span { plan = plan.squeezed(into: Milliseconds(span)) }
            setting.plan = plan
        }
        if let trace = setting.arrivals?.traceFile {
            setting.arrivals?.trace = try Self.offsets(bytes(trace.name), trace)
        }
    }

    /// One offset a line, or the times of a trace's rows.
    private static func offsets(_ bytes: [UInt8], _ file: TraceFile) throws(Fault) -> [Int64] {
        var offsets: [Int64] = []
        let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
        if lines.first?.contains("case_id") == true {
            do throws(TraceError) {
                let times = try Trace(csv: bytes).cases.flatMap(\.rows).compactMap(\.time).sorted()
                offsets = times.map { ($0 - (times.first ?? $0)).count }
            } catch {
                throw Fault(at: file.path, "names \(file.name): \(error)")
            }
        } else {
            for (number, line) in lines.enumerated() {
                guard let offset = Int64(line), offset >= offsets.last ?? 0 else {
                    throw Fault(
                        at: file.path,
                        "names \(file.name), whose line \(number + 1) is no offset in milliseconds, from 0 and rising")
                }
                offsets.append(offset)
            }
        }
        guard let last = offsets.last else { throw Fault(at: file.path, "names \(file.name), which has no times") }
        guard let span = file.span, last > 0 else { return offsets }
        return offsets.map { Int64(Double($0) / Double(last) * Double(span)) }
    }
}

extension Trace {
    /// Its first cases.
    fileprivate func first(_ count: Int) -> Trace {
        var trace = self
        trace.keep(count)
        return trace
    }
}
