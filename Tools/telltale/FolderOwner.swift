import Foundation
import Glibc
import TelltaleModel
import ToolSupport

/// Gives a data folder's new files to the owner of the folder.
///
/// Commands that repair or move a history are run by root, and the daemon is another user, who could not open what they made.
enum FolderOwner {
    /// Does nothing for another user than root, and for a folder of root's.
    static func restore(_ path: String) {
        var folder = stat()
        guard geteuid() == 0, unsafe stat(path, &folder) == 0, folder.st_uid != 0 else { return }
        let files = FileManager.default.enumerator(atPath: path)
        while let name = files?.nextObject() as? String {
            let file = "\(path)/\(name)"
            var status = Glibc.stat()
            guard unsafe lstat(file, &status) == 0, status.st_uid == 0 else { continue }
            // A second name of a file elsewhere is no file that this command made.
            guard status.st_mode & S_IFMT != S_IFREG || status.st_nlink == 1 else { continue }
            if unsafe lchown(file, folder.st_uid, folder.st_gid) != 0 {
                complain("telltale: \(file) belongs to root: give it to the daemon's user (chown)".harmless)
            }
        }
    }
}
