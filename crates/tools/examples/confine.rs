//! The launcher for tests: what the binary's hidden command does, and nothing else.

fn main() -> std::process::ExitCode {
    let error = steward_tools::sandbox::confine_and_exec(std::env::args_os().skip(2));
    eprintln!("{error}");
    std::process::ExitCode::from(126)
}
