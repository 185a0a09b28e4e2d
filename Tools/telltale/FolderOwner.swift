import Glibc
import TelltaleModel
import ToolSupport

/// The owner of a daemon's data folder.
enum FolderOwner {
    /// Prints advice if root has created files in the folder of another user, who could not open them.
    ///
    /// It does not change the owner itself, because the other user could replace the file meanwhile.
    static func advise(_ path: String) {
        var folder = stat()
        guard geteuid() == 0, unsafe stat(path, &folder) == 0, folder.st_uid != 0 else { return }
        complain(
            "telltale: what was written belongs to root; before the daemon starts: chown -R \(folder.st_uid):\(folder.st_gid) \(path.harmless)"
        )
    }
}
