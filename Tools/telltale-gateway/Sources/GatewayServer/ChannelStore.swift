internal import ApplePush
internal import FoundationEssentials
internal import Gateway
internal import Synchronization
internal import TelltaleModel

/// The push channels, and the file that stores them.
final class ChannelStore: Sendable {
    private let path: String?
    private let channels: Mutex<PushChannels>

    /// - Parameter folder: `nil` = the channels end with this process.
    /// - Throws: If the file exists and cannot be used.
    init(folder: String?) throws {
        path = folder.map { "\($0)/push-channels.json" }
        guard let path, FileManager.default.fileExists(atPath: path) else {
            channels = Mutex(PushChannels())
            return
        }
        let fault = StateFolder.Fault(description: "\(path) holds no channels; remove it")
        guard let data = FileManager.default.contents(atPath: path),
            let list = (try? EventRequest.json(Array(data).span))?["channels"]?.array
        else { throw fault }
        var found: [PushChannel] = []
        for json in list {
            guard let id = json["id"]?.string, let bundle = json["app"]?.string,
                let policy = json["message-storage-policy"]?.integer
            else { throw fault }
            found.append(PushChannel(id: id, bundle: bundle, storagePolicy: Int(policy)))
        }
        channels = Mutex(PushChannels(found))
    }

    var current: PushChannels { channels.withLock { $0 } }

    /// - Returns: `nil` if the file cannot be written; then nothing has changed.
    func create(bundle: String, storagePolicy: Int) -> PushChannel? {
        let bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        let channel = PushChannel(
            id: Data(bytes).base64EncodedString(), bundle: bundle, storagePolicy: storagePolicy)
        return change { $0.insert(channel) } ? channel : nil
    }

    func delete(_ channel: PushChannel) -> Bool { change { $0.remove(channel) } }

    private func change(_ body: (inout PushChannels) -> Void) -> Bool {
        channels.withLock { channels in
            var fresh = channels
            body(&fresh)
            guard write(fresh) else { return false }
            channels = fresh
            return true
        }
    }

    private func write(_ channels: PushChannels) -> Bool {
        guard let path else { return true }
        var writer = JSONWriter()
        writer.beginObject()
        writer.objects("channels", of: channels.all) { channel, writer in
            writer.member("id", channel.id)
            writer.member("app", channel.bundle)
            writer.member("message-storage-policy", channel.storagePolicy)
        }
        writer.endObject()
        return (try? Data(writer.bytes).write(to: URL(filePath: path), options: .atomic)) != nil
    }
}
