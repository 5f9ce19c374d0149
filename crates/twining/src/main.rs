//! The program: everything is in the library, where the tests reach it too.

fn main() -> std::process::ExitCode {
    twining::main()
}
