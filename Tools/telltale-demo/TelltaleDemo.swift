import ArgumentParser
import Demo
import ToolSupport

/// `telltale-sim demo` as a program of its own, so that `Tools/demo` builds the daemon and a player, and no simulator.
@main
enum TelltaleDemo {
    static func main() { DemoCommand.runProgram() }
}
