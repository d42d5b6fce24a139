//! `onceover`: the broker in a desktop window. Everything is in the library, so that tests can start it without a display.

use std::process::ExitCode;

fn main() -> ExitCode {
    onceover_window::run()
}
