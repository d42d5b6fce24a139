//! Ids, keys and windows through the official Rust client, against a running broker: `onceover-sdk-smoke PORT`.
//!
//! Every check has a name, a failed check does not stop the others, and the last line is "N passed, N failed". Queue names
//! and job ids are fresh, so the broker may hold other data. What the client has no method for (looking up and removing a
//! key) goes through its public `Connection::call`.

mod checks;
mod kit;

use std::panic::catch_unwind;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    // A failed assertion is reported in one line by the loop below.
    std::panic::set_hook(Box::new(|_| {}));
    let mut failed = 0;
    for (name, check) in checks::ALL {
        let began = Instant::now();
        match catch_unwind(check) {
            Ok(()) => println!("ok   rust: {name} ({} ms)", began.elapsed().as_millis()),
            Err(panic) => {
                failed += 1;
                let text = panic
                    .downcast_ref::<String>()
                    .map(String::as_str)
                    .or_else(|| panic.downcast_ref::<&str>().copied())
                    .unwrap_or("panicked");
                println!("FAIL rust: {name}: {}", text.replace('\n', " "));
            }
        }
    }
    println!("{} passed, {failed} failed", checks::ALL.len() - failed);
    ExitCode::from(u8::from(failed > 0))
}
