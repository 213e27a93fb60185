//! Any bytes in any pieces through the decoder of `Framing::Lines`: what it checks is said at `fuzz::check`.
#![no_main]

use copydesk_protocol::rpc::Framing;
use copydesk_protocol::rpc::framing::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz::check(Framing::Lines, data));
