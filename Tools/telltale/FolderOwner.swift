import Glibc
import TelltaleModel
import ToolSupport

/// The owner of a daemon's data folder.
enum FolderOwner {
    /// Says what is left to do where root has made files in the folder of another user, who could not open them.
    ///
    /// Root gives no file away by itself: the other user could put another file in its place meanwhile.
    static func advise(_ path: String) {
        var folder = stat()
        guard geteuid() == 0, unsafe stat(path, &folder) == 0, folder.st_uid != 0 else { return }
        complain(
            "telltale: what was written belongs to root; before the daemon starts: chown -R \(folder.st_uid):\(folder.st_gid) \(path.harmless)"
        )
    }
}
