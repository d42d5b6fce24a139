//! libFuzzer's entry to `onceover_fuzz::requests`.

#![no_main]
#![allow(unsafe_code, reason = "the entry point is called from C")]

use onceover_fuzz::memory::Counting;

#[global_allocator]
static MEMORY: Counting = Counting;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| onceover_fuzz::requests::run(bytes));
